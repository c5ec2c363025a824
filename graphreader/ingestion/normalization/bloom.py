"""A set of any number of words in little memory."""

from hashlib import blake2b


class BloomFilter:
    """Knows every word that was added, and takes few others for known: with a million, hardly any.

    4 MB, the same answers on every machine.
    """

    def __init__(self, bits: int = 1 << 25) -> None:
        self._bits = bytearray(bits // 8)

    def add(self, word: str) -> bool:
        """Put a word in; whether it was new."""
        places = self._places(word)
        new = not self._has(places)
        for place in places:
            self._bits[place >> 3] |= 1 << (place & 7)
        return new

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._has(self._places(word))

    def _has(self, places: list[int]) -> bool:
        return all(self._bits[place >> 3] & 1 << (place & 7) for place in places)

    def _places(self, word: str) -> list[int]:
        digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        size = len(self._bits) * 8
        return [int.from_bytes(digest[at : at + 4], "big") % size for at in range(0, 16, 4)]

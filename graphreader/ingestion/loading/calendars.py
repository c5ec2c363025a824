"""The parser of invitations and calendars (.ics): each event as lines, such as "Starts: ..."."""

import re

from graphreader.ingestion.loading.content import Content, read_text

_FOLDED = re.compile(r"\n[ \t]")
_LINE = re.compile(r'([A-Za-z-]+)((?:;(?:"[^"]*"|[^":])*)?):(.*)')
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_ZONE = re.compile(r';TZID="?([^";:]+)', re.IGNORECASE)
_COMMON_NAME = re.compile(r';CN=(?:"([^"]*)"|([^;:]*))', re.IGNORECASE)
_EVENTS = {"VEVENT", "VTODO", "VJOURNAL"}
_LABELS = {
    "SUMMARY": "Event", "DTSTART": "Starts", "DTEND": "Ends", "DUE": "Due", "DURATION": "Lasts",
    "RRULE": "Repeats", "LOCATION": "Place", "ORGANIZER": "Organizer", "ATTENDEE": "Attendee",
    "STATUS": "Status", "DESCRIPTION": "Description", "COMMENT": "Comment",
}  # fmt: skip


def read_calendar(data: bytes, shown: str) -> Content:
    """Parse the events and tasks of a calendar (RFC 5545), each a paragraph of labelled lines."""
    plain = read_text(data, shown)
    events: list[list[str]] = []
    inside: list[str] = []
    for line in _FOLDED.sub("", plain.text).splitlines():
        match = _LINE.fullmatch(line.strip())
        if not match:
            continue
        name, parameters, value = match[1].upper(), match[2], match[3]
        if name == "BEGIN":
            inside.append(value.upper())
            if inside[-1] in _EVENTS:
                events.append([])
        elif name == "END":
            del inside[-1:]
        elif name in _LABELS and _EVENTS.intersection(inside[-1:]):
            text = _value(name, parameters, value)
            events[-1] += [f"{_LABELS[name]}: {text}"] if text else []
    text = "\n\n".join("\n".join(event) for event in events if event)
    return Content(text, encoding=plain.encoding, skipped=plain.skipped, notes=plain.notes)


def _value(name: str, parameters: str, value: str) -> str:
    if time := _TIME.fullmatch(value.strip()):
        year, month, day, hour, minute, utc = time.groups()
        zone = " UTC" if utc else f" {match[1]}" if (match := _ZONE.search(parameters)) else ""
        return f"{year}-{month}-{day}" + (f" {hour}:{minute}{zone}" if hour else "")
    if name in ("ORGANIZER", "ATTENDEE"):
        address = re.sub("^mailto:", "", value.strip(), flags=re.IGNORECASE)
        match = _COMMON_NAME.search(parameters)
        person = (match[1] or match[2] or "").strip() if match else ""
        return f"{person} <{address}>" if person and person != address else address
    text = re.sub(r"\\([nN,;\\])", lambda one: " " if one[1] in "nN" else one[1], value)
    return " ".join(text.split())

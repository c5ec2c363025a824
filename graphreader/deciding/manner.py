"""How one service takes to be asked, as far as it has shown: what it declined is not tried again.

Of several decisions at once each may meet the same refusal: what changes is what is asked next, so
each request remembers in which way it was made.
"""

import logging

from graphreader.deciding.dialects import OPTIONS, Option
from graphreader.deciding.fitting import Form
from graphreader.deciding.replies.replies import UnusableReply
from graphreader.deciding.service.service import Declined
from graphreader.errors import ModelRefusedError

logger = logging.getLogger("graphreader.deciding")

_NEXT_FORM: dict[Form, Form] = {"schema": "tool", "tool": "text"}


class Manner:
    """The way in which a service is asked next; `name` is that of the model, for messages.

    `form` is that of the reply, `without` are the options left out, `streams` whether replies may
    come in pieces, `thinks` whether the model needs room to think first.
    """

    def __init__(self, name: str, form: Form) -> None:
        self.form: Form = form
        self.without: frozenset[Option] = frozenset()
        self.streams = True
        self.thinks = False
        self._name = name
        self._form_works = False

    def give_way(
        self, declined: Declined, form: Form, without: frozenset[Option], *, streamed: bool
    ) -> None:
        """Ask in another way from now on than in this one. Raises where there is none."""
        kind = declined.failure.kind
        if kind == "content":
            raise UnusableReply("refused") from declined
        # A form may be declined only because it does not go together with a stream.
        if streamed and kind not in OPTIONS and "stream" in str(declined.failure).lower():
            self.streams = False
        elif kind == "form" and form in _NEXT_FORM:
            if self.form == form:  # another decision may have been here before
                self.form = _NEXT_FORM[form]
        elif kind in OPTIONS and kind not in without:
            self.without |= {kind}
        else:
            raise ModelRefusedError(
                f"{self._name} refuses the request ({declined.failure}): check that it is a model "
                "for chats, or use another one (GRAPHREADER_MODEL)."
            ) from declined
        self._tell()

    def works(self) -> None:
        """The form was understood: a reply was in JSON."""
        self._form_works = True

    def goes_over_to_words(self, form: Form) -> bool:
        """Whether the service seems to ignore schema and tool, so that they are told in words."""
        if self._form_works or form == "text":
            return False
        self.form = "text"
        self._tell()
        return True

    def _tell(self) -> None:
        without, streams = ", ".join(sorted(self.without)) or "nothing", self.streams
        logger.debug(
            "%s is asked by %s, streams: %s, without: %s", self._name, self.form, streams, without
        )

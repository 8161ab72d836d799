"""Facts as journals hold them: a field may be renamed in Python, never on disk."""

import msgspec

from ralph.model.control import PersonNote
from ralph.model.loop import Began, Limits, Observation

NOTE = PersonNote(id=7, text="Tabs")


def test_notes_for_an_agent_that_was_cut_off_are_stored_by_the_name_journals_have() -> None:
    stored = b'{"fact":{"type":"began","told":[{"id":7,"text":"Tabs"}],"limits":{"iterations":9}},"at":0.0}'
    seen = msgspec.json.decode(stored, type=Observation)
    assert seen.fact == Began(Limits(9), pending_notes=(NOTE,))
    assert msgspec.json.decode(msgspec.json.encode(seen))["fact"]["told"] == [{"id": 7, "text": "Tabs"}]
    assert "told" not in msgspec.json.decode(msgspec.json.encode(Began(Limits(9))))

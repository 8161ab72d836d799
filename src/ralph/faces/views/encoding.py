"""Answers as JSON bytes."""

import msgspec

_encoder = msgspec.json.Encoder()


def encode_json(value: object) -> bytes:
    """Half a character, as names of files may hold, becomes a question mark: JSON for others has none."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        import json  # only for what msgspec refuses

        return json.dumps(msgspec.to_builtins(value), ensure_ascii=False).encode("utf-8", "replace")

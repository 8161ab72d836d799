"""What a judge is asked, and the form of its answer: for those who ask and for those who know how to be asked."""

JUDGE_QUESTION = "Judge whether a coding agent has done its task."  # how every question to a judge begins
JUDGE_STAGE = "judge"  # RALPH_STAGE of an agent that judges
# For CLIs that hold their model to a schema. Codex wants every key required and no others.
JUDGE_SCHEMA = (
    '{"type":"object","additionalProperties":false,"required":["criteria","verdict","reason"],"properties":{'
    '"criteria":{"type":"array","items":{"type":"object","additionalProperties":false,'
    '"required":["number","met","reason"],"properties":{'
    '"number":{"type":"integer"},"met":{"type":"boolean"},"reason":{"type":"string"}}}},'
    '"verdict":{"type":"string","enum":["VERIFIED","NOT_VERIFIED"]},"reason":{"type":"string"}}}'
)

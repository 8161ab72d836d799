"""What git knows of its user in a sandbox."""

from ralph.app.sandbox.identity import render_git_settings


def test_names_come_along_and_programs_and_keys_do_not() -> None:
    pairs = [
        ("user.name", 'A "B" C'),
        ("user.email", "a@b"),
        ("credential.helper", "store"),
        ("core.hookspath", "/evil"),
        ("alias.x", "!sh"),
        ("url.https://token@host/.insteadof", "https://host/"),
    ]
    assert render_git_settings(iter(pairs)) == '[user]\n\tname = "A \\"B\\" C"\n[user]\n\temail = "a@b"\n'

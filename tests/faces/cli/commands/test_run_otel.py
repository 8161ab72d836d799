"""Spans of real runs, as a user sets them up."""

from support.collector import collect_spans, read_attributes
from support.workshop import ProjectFixture, make_result_command


def test_a_run_sends_its_spans_and_its_children_know_the_trace(workshop: ProjectFixture) -> None:
    seen = workshop.home / "gate"
    workshop.settings(guardrails=[{"command": f"echo $TRACEPARENT > {seen}"}])
    workshop.agent(make_result_command("<response>DONE</response>", cost=0.5))
    with collect_spans() as collector:
        done = workshop.ralph("run", "-p", "x", OTEL_EXPORTER_OTLP_ENDPOINT=collector.address)
    assert (done.returncode, "otel" in done.stdout + done.stderr) == (0, False)
    (run,) = collector.find("ralph run")
    assert read_attributes(run)["ralph.cost_usd"] == 0.5
    assert len(collector.find("invoke_agent claude")) == 1
    assert [span.name for span in collector.spans if span.name.startswith("check ")]
    parent = f"00-{run.trace_id.hex()}-{run.span_id.hex()}-01"
    assert seen.read_text().strip() == parent
    assert f"TRACEPARENT={parent}\n" in (workshop.home / "env.1").read_text()


def test_without_the_extra_or_a_collector_a_run_ends_as_ever(workshop: ProjectFixture) -> None:
    lost = "import sys; sys.modules['opentelemetry'] = None"
    (workshop.home / "sitecustomize.py").write_text(lost)
    address = "nowhere"
    done = workshop.ralph("run", "-p", "x", PYTHONPATH=str(workshop.home), OTEL_EXPORTER_OTLP_ENDPOINT=address)
    assert (done.returncode, done.stdout.count("pip install 'ralph-verified[otel]'")) == (0, 1)
    done = workshop.ralph("run", "-p", "x", OTEL_EXPORTER_OTLP_ENDPOINT=address)
    assert (done.returncode, done.stdout.count("otel: ")) == (0, 1)
    assert "Transient" not in done.stderr

"""How the report page looks: light, dark and printed."""

PAGE_STYLE = """
:root { --back: #fff; --text: #1c2024; --dim: #5b6570; --rule: #dfe3e8; --panel: #f6f8fa; --good: #1a7f37;
  --bad: #c4302b; --agent: #2f6fd0; --trouble: #b35900; --waited: #aab2bd; --fresh: #2f6fd0; --cached: #9cc2f5;
  --output: #8250c4; --notice: #fff6dd; }
@media (prefers-color-scheme: dark) { :root { --back: #0f1419; --text: #e4e8ec; --dim: #9aa5b1; --rule: #2b333c;
  --panel: #171d24; --good: #3fb950; --bad: #f2665f; --agent: #5b9bf5; --trouble: #e08a2c; --waited: #59636e;
  --fresh: #5b9bf5; --cached: #2d5a94; --output: #b08ae8; --notice: #2c2610; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 64rem; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
header p, small, footer, th { color: var(--dim); } header p { margin: .25rem 0 1rem; }
h2 small { font-weight: normal; } ul { margin: .25rem 0; padding-left: 1.25rem; }
li, td:last-child, h2, code { overflow-wrap: anywhere; }
code { font: .9em ui-monospace, monospace; background: var(--panel); padding: .1em .3em; border-radius: 3px; }
pre { font: .85em/1.4 ui-monospace, monospace; background: var(--panel); padding: .4em .6em; margin: .3em 0;
  border-radius: 3px; white-space: pre-wrap; overflow-wrap: anywhere; }
figure { margin: 1.5rem 0; } figcaption { font-weight: 600; margin-bottom: .5rem; }
figcaption span { font-weight: normal; color: var(--dim); margin-left: 1rem; white-space: nowrap; }
figcaption i { display: inline-block; width: .8em; height: .8em; margin-right: .35em; border-radius: 2px; }
svg { width: 100%; height: auto; display: block; } svg text { font: 12px system-ui, sans-serif; fill: var(--text); }
svg .tick { fill: var(--dim); } .grid { stroke: var(--rule); } .axis { stroke: var(--dim); }
.line { fill: none; stroke: var(--agent); stroke-width: 2; } .mark { fill: var(--agent); }
rect.good { fill: var(--good); } rect.bad { fill: var(--bad); } rect.agent { fill: var(--agent); }
rect.trouble { fill: var(--trouble); } rect.waited { fill: var(--waited); } rect.fresh { fill: var(--fresh); }
rect.cached { fill: var(--cached); } rect.output { fill: var(--output); }
i.good { background: var(--good); } i.bad { background: var(--bad); } i.agent { background: var(--agent); }
i.trouble { background: var(--trouble); } i.waited { background: var(--waited); } i.fresh { background: var(--fresh); }
i.cached { background: var(--cached); } i.output { background: var(--output); }
.sign.good { color: var(--good); } .sign.bad { color: var(--bad); } .sign.active { color: var(--agent); }
.steps { background: var(--notice); border: 1px solid var(--rule); border-radius: 6px; padding: .25rem 1rem .75rem; }
.steps h2 { margin-top: .5rem; } .steps li { margin: .35rem 0; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9em; margin: .5rem 0; }
th { text-align: left; font-weight: 600; } th, td { padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; } td { font-variant-numeric: tabular-nums; } td:last-child { min-width: 14rem; }
@media screen and (max-width: 700px) { body { padding: 1rem; } figure { overflow-x: auto; } svg { min-width: 40rem; } }
footer { margin-top: 2rem; font-size: .85em; }
@media print { :root { --back: #fff; --text: #000; --dim: #444; --rule: #bbb; --panel: #f3f3f3; --good: #1a7f37;
  --bad: #c4302b; --agent: #2f6fd0; --trouble: #b35900; --waited: #999; --fresh: #2f6fd0; --cached: #9cc2f5;
  --output: #8250c4; --notice: #fff; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { max-width: none; padding: 0; font-size: 11px; }
  figure, tr, .steps { break-inside: avoid; } h2, h3 { break-after: avoid; } thead { display: table-header-group; }
  .scroll { overflow: visible; } }
"""

/**
 * The style sheet of the report, dark and light. People who confuse red and green can distinguish the colours in both.
 */
export const REPORT_STYLE = `
:root{color-scheme:light dark;--page:#f6f6f4;--card:#fff;--line:#e4e3df;--ink:#191918;--ink2:#5d5c57;--muted:#a09f99;
--c1:#2a78d6;--c2:#1baf7a;--c3:#eda100;--c4:#e34948;--c5:#4a3aa7;--c6:#e87ba4;--c7:#008300;--c8:#8a8983;
--o1:#6ea6e8;--o2:#2a78d6;--o3:#17437d;--o4:#c9c7c0;--good:#0b7a3e;--bad:#c22f2f;--warn:#8a5a00}
@media (prefers-color-scheme:dark){:root{--page:#121211;--card:#1b1b1a;--line:#33322f;--ink:#f3f2ee;--ink2:#b5b3ab;--muted:#7d7c76;
--c1:#3987e5;--c2:#199e70;--c3:#c98500;--c4:#e66767;--c5:#9085e9;--c6:#d55181;--c7:#3aa63a;--c8:#96948c;
--o1:#2f6fc0;--o2:#5fa3ee;--o3:#c2dcfb;--o4:#5a5953;--good:#4cc27f;--bad:#f08080;--warn:#e0b050}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif;-webkit-font-smoothing:antialiased}
main{max-width:1200px;margin:0 auto;padding:40px 24px 64px}
h1{font-size:26px;font-weight:650;letter-spacing:-.01em;margin:0}
h2{font-size:15px;font-weight:600;margin:0}
p{margin:0}
.sub{color:var(--ink2);margin-top:4px}
.note{margin-top:20px;padding:12px 16px;border-radius:10px;border:1px solid var(--line);background:var(--card)}
.note.good{border-color:var(--good);color:var(--good)}.note.bad{border-color:var(--bad);color:var(--bad)}.note.warn{border-color:var(--warn);color:var(--warn)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:12px;margin:24px 0 12px;padding:0;list-style:none}
.tiles li{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:14px 16px}
.tiles b{display:block;font-size:24px;font-weight:600;letter-spacing:-.01em;line-height:1.25}
.tiles span{color:var(--ink2);font-size:13px}
.good{color:var(--good)}.bad{color:var(--bad)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:16px;margin-top:16px}
figure,section{margin:0;background:var(--card);border:1px solid var(--line);border-radius:12px;padding:18px 18px 14px;min-width:0}
section{margin-top:16px}
figcaption p{color:var(--ink2);font-size:13px;min-height:3em}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;list-style:none;margin:8px 0 4px;padding:0;font-size:13px;color:var(--ink2)}
.legend i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
.plot{position:relative}
svg{display:block;width:100%;height:auto;overflow:visible}
.grid{stroke:var(--line);stroke-width:1}
.tick{fill:var(--ink2);font-size:11px;font-variant-numeric:tabular-nums}
.line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.area{stroke:var(--card);stroke-width:1}
.cursor{stroke:var(--ink2);stroke-width:1;stroke-dasharray:3 3;opacity:0}
.plot:hover .cursor{opacity:1}
.tip{position:absolute;top:8px;pointer-events:none;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 10px;font-size:12px;box-shadow:0 4px 16px #0002;white-space:nowrap;z-index:1}
.tip b{display:block;margin-bottom:2px}.tip i{display:inline-block;width:8px;height:8px;border-radius:2px;margin-right:6px}
details{margin-top:8px;font-size:13px}summary{cursor:pointer;color:var(--ink2)}
.scroll{overflow-x:auto;max-height:320px;overflow-y:auto;margin-top:8px}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--ink2);padding-bottom:6px}
th,td{text-align:right;padding:5px 10px;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child{text-align:left;font-weight:500}th{font-weight:500;color:var(--ink2)}
section :is(th,td):last-child{text-align:left;white-space:normal}
footer{color:var(--ink2);font-size:13px;margin-top:24px}
:focus-visible{outline:2px solid var(--c1);outline-offset:2px;border-radius:4px}
@media print{body{background:#fff}.charts{grid-template-columns:1fr 1fr}}
`;

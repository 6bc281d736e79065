/** One sheet for all pages; light and dark as the reader has it. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#fbfbfa, #16181b);
  --card: light-dark(#ffffff, #1e2125);
  --ink: light-dark(#1c2024, #e8e9ea);
  --soft: light-dark(#5a6169, #a2a9b1);
  --line: light-dark(#dfe2e5, #33383d);
  --link: light-dark(#0b57b7, #8ab8ff);
  --bar: light-dark(#4f83cc, #6c9be0);
  --warn: light-dark(#9a3412, #ffb38a);
}
* { box-sizing: border-box; }
body {
  margin: 0;
  background: var(--ground);
  color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif;
}
a { color: var(--link); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: 0.5rem; }
header {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.5rem 1.5rem;
  padding: 0.7rem 1.5rem;
  background: var(--card);
  border-bottom: 1px solid var(--line);
}
nav { display: flex; flex-wrap: wrap; gap: 1.1rem; flex: 1; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
header form { display: flex; align-items: center; gap: 0.8rem; }
.who { color: var(--soft); }
main { max-width: 72rem; margin: 0 auto; padding: 1.2rem 1.5rem 4rem; }
h1 { font-size: 1.5rem; margin: 0.4rem 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 1.8rem 0 0.6rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 0.8rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 0.8rem 1rem; }
.card b { display: block; font-size: 1.2rem; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; padding: 0.6rem 0.9rem; color: var(--soft); }
th, td { padding: 0.4rem 0.9rem; border-top: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-weight: 600; white-space: nowrap; }
td { overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.3rem 1.2rem; margin: 0.5rem 0;
  background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 0.8rem 1rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
form.filter { display: flex; flex-wrap: wrap; align-items: end; gap: 0.8rem; margin: 0 0 1.2rem; }
label { display: grid; gap: 0.2rem; color: var(--soft); font-size: 0.9rem; }
input, select, button {
  font: inherit; color: var(--ink); background: var(--card);
  border: 1px solid var(--line); border-radius: 6px; padding: 0.35rem 0.6rem;
}
button { cursor: pointer; background: var(--link); color: light-dark(#fff, #101418); border-color: transparent; }
button.quiet { background: none; color: var(--link); border-color: var(--line); }
.decision { display: flex; flex-wrap: wrap; gap: 0.8rem; align-items: end; margin: 0.5rem 0; }
.empty { color: var(--soft); }
.error { color: var(--warn); border-left: 3px solid var(--warn); padding-left: 0.8rem; }
.note { color: var(--soft); }
svg.bars { width: 100%; height: 7rem; display: block; }
svg.bars rect { fill: var(--bar); }
.login { max-width: 24rem; }
.login form { display: grid; gap: 0.9rem; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 0.8rem 1rem; overflow-x: auto; }
`;

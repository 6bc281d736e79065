// Medians and ratios of a run, as a table.

/** Middle value; of an even number the mean of the middle two. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** One row for each transport and context. */
export function summarise(results) {
  const keyed = new Map();
  for (const result of results) {
    const key = `${result.contextTokens} ${result.name}`;
    keyed.set(key, [...(keyed.get(key) ?? []), result]);
  }
  return [...keyed.values()].map((loops) => {
    const turns = loops.flatMap((loop) => loop.turns);
    return {
      name: loops[0].name,
      contextTokens: loops[0].contextTokens,
      ttftMs: median(turns.map((turn) => turn.ttftMs)),
      wallMs: median(turns.map((turn) => turn.wallMs)),
      overheadMs: median(turns.map((turn) => turn.overheadMs)),
      cpuMs: median(loops.map((loop) => loop.cpuMs)),
      loopMs: median(loops.map((loop) => loop.wallMs)),
    };
  });
}

/** The ratios that the project promises, flat. Those whose contexts were not run are left out. */
export function ratiosOf(rows, contexts) {
  const row = (name, contextTokens) =>
    rows.find((each) => each.name === name && each.contextTokens === contextTokens);
  const largest = Math.max(...contexts);
  const smallest = Math.min(...contexts);
  const label = `${largest / 1000}k`;
  const socket = row('websocket', largest);
  const replay = row('http-replay', largest);
  return {
    [`continuation_${label}_vs_${smallest / 1000}k`]:
      socket.overheadMs / row('websocket', smallest).overheadMs,
    loop_ws_vs_http_replay: socket.loopMs / replay.loopMs,
    ttft_ws_vs_http_replay: socket.ttftMs / replay.ttftMs,
    cpu_vs_floor: socket.cpuMs / row('floor', largest).cpuMs,
  };
}

/** Prints the table, then the ratios. */
export function printTable(rows, ratios, { tps, ttftMs, calls, rounds }) {
  const lines = [
    '',
    `agent loop of ${calls} tool calls, engine at ${tps} tokens/s with ${ttftMs} ms to the first token, medians of ${rounds} round(s)`,
    '',
    '| context | transport | first token ms | turn ms | overhead ms | gateway CPU ms | loop s |',
    '| ---: | --- | ---: | ---: | ---: | ---: | ---: |',
  ];
  for (const row of rows) {
    const cells = [
      row.contextTokens.toLocaleString('en-US'),
      row.name,
      row.ttftMs.toFixed(1),
      row.wallMs.toFixed(1),
      row.overheadMs.toFixed(1),
      row.cpuMs.toFixed(1),
      (row.loopMs / 1000).toFixed(2),
    ];
    lines.push(`| ${cells.join(' | ')} |`);
  }
  lines.push('', '| ratio | value |', '| --- | ---: |');
  for (const [name, value] of Object.entries(ratios)) lines.push(`| ${name} | ${value.toFixed(2)} |`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

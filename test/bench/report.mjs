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
    overhead_ws_vs_append: socket.overheadMs / row('append', largest).overheadMs,
    cpu_vs_floor: socket.cpuMs / row('floor', largest).cpuMs,
    ...outageRatios(row('queued', smallest), row('outage', smallest)),
  };
}

/** How much later a response is completed while Redis and Postgres are down. */
function outageRatios(queued, outage) {
  if (queued === undefined || outage === undefined) return {};
  return {
    completed_services_down_vs_up: outage.wallMs / queued.wallMs,
    overhead_services_down_vs_up: outage.overheadMs / queued.overheadMs,
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

/** Prints where the gateway's time goes: medians of what it logs about each turn. */
export function printStages(results) {
  const lines = [
    '',
    '| context | transport | validation ms | rendering ms | tokens encoded | request read to engine called ms |',
    '| ---: | --- | ---: | ---: | ---: | ---: |',
  ];
  const groups = new Map();
  for (const { name, contextTokens, log } of results) {
    if (log.length === 0) continue;
    const key = `${contextTokens.toLocaleString('en-US')} | ${name}`;
    groups.set(key, [...(groups.get(key) ?? []), ...log]);
  }
  for (const [key, turns] of groups) {
    const dispatched = (turn) => Number(/dispatched\+([\d.]+)/.exec(turn.states)[1]);
    const cells = [
      (median(turns.map((turn) => turn.stages_us.validation)) / 1000).toFixed(2),
      (median(turns.map((turn) => turn.stages_us.rendering)) / 1000).toFixed(2),
      median(turns.map((turn) => turn.work.tokens_encoded)).toLocaleString('en-US'),
      median(turns.map(dispatched)).toFixed(1),
    ];
    lines.push(`| ${key} | ${cells.join(' | ')} |`);
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}

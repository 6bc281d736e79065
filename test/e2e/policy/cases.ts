import type { Purpose, UsageRecord } from '@turnpike/metering';
import { delta } from '../../../libs/inference/testing/message-server.js';
import { TRANSPORTS, type Body } from '../../conformance/transports.js';
import { MARKER } from '../../safety/marker.js';
import {
  blockedInRace,
  cancelled,
  compacted,
  compactedAndBlocked,
  continued,
  counted,
  engineKilled,
  failedOver,
  gatewayKilled,
  interrupted,
  left,
  leftHttp,
  LONG,
  refusedByEngine,
  repeated,
  steered,
  turn,
  UNSUMMARISED,
  withoutEngine,
  withoutScope,
  type Play,
} from './plays.js';

/** One way to come to a row of the table. */
export interface Case {
  readonly name: string;
  readonly play: Play;
  /** How its client sees it end: type, and code or reason. */
  readonly end: string | undefined;
  /** What is special about its row in the ledger. */
  readonly row?: Partial<UsageRecord>;
  /** What tokens were for; by default an answer. */
  readonly purposes?: readonly Purpose[];
}

/** The same over both transports. */
const both = (name: string, body: Body, rest: Omit<Case, 'name' | 'play'>, tenant?: string): Case[] =>
  TRANSPORTS.map((transport) => ({
    name: `${name} (${transport})`,
    play: turn(transport, body, tenant),
    ...rest,
    row: { transport, ...rest.row },
  }));

const CUT = { partial: true };
const TRIGGER = [{ role: 'user', content: 'a long story' }, { type: 'compaction_trigger' }];

/** What is done for each row, by the first column of the table. */
export const CASES: Readonly<Record<string, readonly Case[]>> = {
  completed: [
    ...both(
      'with reasoning',
      { input: 'hello', reasoning: { effort: 'medium' } },
      { end: 'response.completed' },
    ),
    {
      name: 'behind another (websocket)',
      play: continued('websocket', { input: 'and again' }),
      end: 'response.completed',
    },
    {
      name: 'behind another (http)',
      play: continued('http', { input: 'and again' }),
      end: 'response.completed',
    },
    { name: 'asked for twice, with a key that makes it one', play: repeated, end: 'completed' },
    { name: 'behind one that was steered', play: steered('second'), end: 'response.completed' },
  ],
  'incomplete: token limit, content filter, budget, steered': [
    ...both(
      'token limit',
      { input: `x ${LONG}`, max_output_tokens: 20 },
      { end: 'response.incomplete max_output_tokens', row: { reason: 'max_output_tokens' } },
    ),
    {
      name: 'content filter of the engine',
      play: counted([delta({ content: 'half' }, 'content_filter')]),
      end: 'response.incomplete content_filter',
      row: { reason: 'content_filter' },
    },
    {
      name: 'budget',
      play: turn('websocket', { model: 'slow', input: `x ${LONG}` }, 'thrifty'),
      end: 'response.incomplete insufficient_quota',
      row: { reason: 'insufficient_quota', ...CUT },
    },
    {
      name: 'steered',
      play: steered('first'),
      end: 'response.incomplete steered',
      row: { reason: 'steered', ...CUT },
    },
  ],
  'failed before the engine gave anything': [
    ...both(
      'cut off',
      { model: 'frail', input: 'x [sim die=0]' },
      { end: 'response.failed server_error', row: { rule: 'free_failed_before_output', ...CUT } },
    ),
    ...both(
      'an error in the stream',
      { model: 'frail', input: 'x [sim error=0]' },
      { end: 'response.failed server_error', row: { rule: 'free_failed_before_output', ...CUT } },
    ),
    ...TRANSPORTS.map((transport) => ({
      name: `an error in place of a stream (${transport})`,
      play: refusedByEngine(transport),
      end: 'response.failed server_error',
      row: { rule: 'free_failed_before_output' as const, ...CUT },
    })),
  ],
  'failed after the engine gave something': [
    ...both(
      'cut off',
      { model: 'frail', input: 'x [sim die=20]' },
      { end: 'response.failed server_error', row: CUT },
    ),
    ...both(
      'an error in the stream',
      { model: 'frail', input: 'x [sim error=20]' },
      { end: 'response.failed server_error', row: CUT },
    ),
  ],
  'cancelled by its client': [
    {
      name: 'in the middle (websocket)',
      play: interrupted({ model: 'slow', input: `x ${LONG}` }),
      end: 'response.incomplete interrupted',
      row: { transport: 'websocket', ...CUT },
    },
    {
      name: 'before the first token (websocket)',
      play: interrupted({ model: 'late', input: 'x' }),
      end: 'response.incomplete interrupted',
      row: { transport: 'websocket', ...CUT },
    },
    {
      name: 'in the middle (background)',
      play: cancelled,
      end: 'cancelled',
      row: { transport: 'background', ...CUT },
    },
  ],
  'client gone': [
    {
      name: 'E09: in the middle (websocket)',
      play: left({ model: 'slow', input: `x ${LONG}` }),
      end: undefined,
      row: { transport: 'websocket', ...CUT },
    },
    {
      name: 'E09: in the middle (http)',
      play: leftHttp({ model: 'slow', input: `x ${LONG}` }),
      end: undefined,
      row: { transport: 'http', ...CUT },
    },
    {
      name: 'before the first token (websocket)',
      play: left({ model: 'late', input: 'x' }),
      end: undefined,
      row: CUT,
    },
  ],
  'engine gone in the middle': [
    { name: 'killed', play: engineKilled, end: 'response.failed server_error', row: CUT },
  ],
  'gateway gone in the middle': [
    { name: 'killed', play: gatewayKilled, end: undefined, row: { reason: 'gateway_lost', ...CUT } },
  ],
  'failover: another engine answers, or summarises, in place of a first': [
    ...TRANSPORTS.map((transport) => ({
      name: `answers (${transport})`,
      play: failedOver(transport, 'hello'),
      end: 'response.completed',
      row: { engine: 'quick', outcome: 'completed' as const },
    })),
    {
      name: 'summarises',
      play: failedOver('websocket', TRIGGER),
      end: 'response.completed',
      row: { engine: 'quick', outcome: 'completed' },
      purposes: ['compaction'],
    },
  ],
  'warm-up': [
    ...both(
      'B06: free by default',
      { input: 'x', generate: false },
      { end: 'response.completed', purposes: ['warm_up'] },
    ),
    ...both(
      'B06: with a price',
      { model: 'dear', input: 'x', generate: false },
      { end: 'response.completed', purposes: ['warm_up'] },
    ),
  ],
  compaction: [
    ...both(
      'asked for',
      { input: TRIGGER },
      { end: 'response.completed', row: { outcome: 'completed' }, purposes: ['compaction'] },
    ),
    {
      name: 'with a factor',
      play: turn('websocket', { model: 'dear', input: TRIGGER }),
      end: 'response.completed',
      row: { outcome: 'completed' },
      purposes: ['compaction'],
    },
    {
      name: 'due, and an answer behind it',
      play: continued('websocket', {
        input: 'go on',
        context_management: [{ type: 'compaction', compact_threshold: 20 }],
      }),
      end: 'response.completed',
      row: { outcome: 'completed' },
      purposes: ['compaction', 'answer'],
    },
    {
      name: 'of a window',
      play: compacted,
      end: 'response.compaction',
      row: { outcome: 'completed' },
      purposes: ['compaction'],
    },
    {
      name: 'that fails in the middle, of a server that counts',
      play: counted([delta({ content: 'half' })], TRIGGER),
      end: 'response.failed server_error',
      row: { outcome: 'failed', ...CUT },
      purposes: ['compaction'],
    },
    {
      name: 'that says nothing, of a server that counts',
      play: counted([delta({}, 'stop')], TRIGGER),
      end: 'response.failed server_error',
      row: { outcome: 'failed', reason: 'server_error' },
      purposes: ['compaction'],
    },
    {
      name: 'whose output is blocked',
      play: turn('websocket', { input: [...UNSUMMARISED, { type: 'compaction_trigger' }] }),
      end: 'response.incomplete content_filter',
      row: { outcome: 'incomplete' },
      purposes: ['compaction'],
    },
    {
      name: 'of a window, whose output is blocked',
      play: compactedAndBlocked,
      end: 'error 400 content_blocked',
      row: { outcome: 'failed', reason: 'content_blocked' },
      purposes: ['compaction'],
    },
  ],
  'refused (validation, routing, unknown response, no quota)': [
    ...both('a bad field', { input: 'x', temperature: 'hot' }, { end: 'error 400 invalid_type' }),
    ...both('an unknown model', { input: 'x', model: 'unknown' }, { end: 'error 404 model_not_found' }),
    ...both(
      'an unknown response',
      { input: 'x', previous_response_id: 'resp_unknown' },
      { end: 'error 400 previous_response_not_found' },
    ),
    ...both(
      'a prompt that is too long',
      { input: 'too long '.repeat(100), model: 'narrow' },
      { end: 'response.failed context_length_exceeded' },
    ),
    ...both('no quota', { input: 'x' }, { end: 'response.failed insufficient_quota' }, 'poor'),
    { name: 'no engine', play: withoutEngine, end: 'error 503 engine_unavailable' },
    { name: 'another scope', play: withoutScope, end: 'error 403 insufficient_permissions' },
  ],
  'blocked before an engine was asked': [
    ...both('by rules', { input: `say ${MARKER}` }, { end: 'error 400 content_blocked' }),
    ...TRANSPORTS.map((transport) => ({
      name: `by a classifier (${transport})`,
      play: turn(transport, { input: `something wicked over ${transport}` }),
      end: 'response.failed content_blocked',
    })),
    ...both(
      'by a verdict that is known',
      { input: 'something wicked over http' },
      { end: 'error 400 content_blocked' },
    ),
  ],
  'blocked by a verdict that an engine did not wait for (`race`)': [
    {
      name: 'in the middle',
      play: blockedInRace,
      end: 'response.failed content_blocked',
      row: { reason: 'content_blocked', ...CUT },
    },
  ],
  'output blocked': both(
    'in the middle',
    { model: 'slow', input: `tell of project heron ${LONG}` },
    { end: 'response.incomplete content_filter', row: { reason: 'content_filter', ...CUT } },
  ),
};

import { describe, expect, it } from '@jest/globals';
import { ApiError, type ErrorBody } from '@turnpike/protocol';
import { errorFrame, noticeFrame, readFrame } from './frames.js';

function errorOf(text: string): ErrorBody {
  try {
    const read = readFrame(text);
    if (read.kind === 'answered') return (JSON.parse(read.reply) as { error: ErrorBody }).error;
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown.body;
    throw thrown;
  }
  throw new Error('the frame was taken');
}

describe('readFrame', () => {
  it('recognises a create, on the default lane and on a named one', () => {
    const frame = { type: 'response.create', model: 'm', input: 'hi', stream: true };
    expect(readFrame(JSON.stringify(frame))).toEqual({ kind: 'create', streamId: undefined, body: frame });
    const unnamed = { ...frame, stream_id: null };
    expect(readFrame(JSON.stringify(unnamed))).toEqual({
      kind: 'create',
      streamId: undefined,
      body: unnamed,
    });
    const named = { ...frame, stream_id: 'main' };
    expect(readFrame(JSON.stringify(named))).toEqual({ kind: 'create', streamId: 'main', body: named });
  });

  it('leaves what is in a create to the request’s own parser', () => {
    expect(readFrame('{"type":"response.create"}')).toMatchObject({ kind: 'create' });
  });

  it.each<[string, string, string, string | null]>([
    ['nothing', '', 'invalid_json', null],
    ['text', 'hello', 'invalid_json', null],
    ['half an object', '{"type":"response.create"', 'invalid_json', null],
    ['an SSE line', 'data: {"type":"response.create"}', 'invalid_json', null],
    ['brackets without end', '['.repeat(1_000_000), 'json_too_deep', null],
    ['null', 'null', 'invalid_type', null],
    ['a number', '5', 'invalid_type', null],
    ['a string', '"response.create"', 'invalid_type', null],
    ['a list', '[{"type":"response.create"}]', 'invalid_type', null],
    ['no type', '{}', 'unknown_event_type', 'type'],
    ['a type that is a number', '{"type":5}', 'unknown_event_type', 'type'],
    ['a type of the prototype', '{"__proto__":{"type":"response.create"}}', 'unknown_event_type', 'type'],
    ['a type named like a method', '{"type":"toString"}', 'unknown_event_type', 'type'],
    ['an event of another protocol', '{"type":"session.update"}', 'unknown_event_type', 'type'],
    [
      'an event for cancelling, which there is none',
      '{"type":"response.cancel"}',
      'unknown_event_type',
      'type',
    ],
    ['an empty stream_id', '{"type":"response.create","stream_id":""}', 'invalid_stream_id', 'stream_id'],
    [
      'a stream_id with a blank',
      '{"type":"response.create","stream_id":"a b"}',
      'invalid_stream_id',
      'stream_id',
    ],
    [
      'a stream_id that is a number',
      '{"type":"response.create","stream_id":5}',
      'invalid_stream_id',
      'stream_id',
    ],
  ])('refuses %s', (_, text, code, param) => {
    expect(errorOf(text)).toMatchObject({ type: 'invalid_request_error', code, param });
  });

  it('names the type it does not know, unless that could be text', () => {
    expect(errorOf('{"type":"response.creat"}').message).toMatch(
      /^Unknown event type: 'response.creat'. Supported types are: 'response.create', /,
    );
    expect(errorOf('{"type":"the secret plan"}').message).not.toContain('secret');
    expect(errorOf(JSON.stringify({ type: 'x'.repeat(1_000) })).message.length).toBeLessThan(200);
  });

  it('says in which lane it does not know a type', () => {
    const unknown = { type: 'response.creat', stream_id: 'main' };
    const replyTo = (frame: object) => {
      const read = readFrame(JSON.stringify(frame));
      return read.kind === 'answered' ? (JSON.parse(read.reply) as object) : undefined;
    };
    expect(replyTo(unknown)).toMatchObject({ type: 'error', status: 400, stream_id: 'main' });
    expect(replyTo({ ...unknown, stream_id: 'a b' })).not.toHaveProperty('stream_id');
  });

  it('passes over notices', () => {
    expect(readFrame('{"type":"response.processed","response_id":"resp_1"}')).toEqual({ kind: 'ignored' });
  });

  it.each(['response.interrupt', 'response.steer', 'response.inject', 'response.append'])(
    'reads %s',
    (type) => {
      const body = { type, response_id: 'resp_1', input: [] };
      const frame = { type, body, streamId: undefined };
      expect(readFrame(JSON.stringify(body))).toEqual({ kind: 'control', frame });
      const named = { ...body, stream_id: 'main' };
      expect(readFrame(JSON.stringify(named))).toMatchObject({ frame: { streamId: 'main' } });
    },
  );
});

describe('noticeFrame', () => {
  it('has its lane and its fields', () => {
    expect(JSON.parse(noticeFrame('response.x', undefined, { a: 1 }))).toEqual({
      type: 'response.x',
      sequence_number: 0,
      a: 1,
    });
    expect(JSON.parse(noticeFrame('response.x', 'main', {}))).toMatchObject({ stream_id: 'main' });
  });
});

describe('errorFrame', () => {
  const notFound = new ApiError('previous_response_not_found', {
    param: 'previous_response_id',
    message: "Previous response with id 'resp_gone' not found.",
  });

  it('is nested, with its status', () => {
    const headers = { 'x-request-id': 'req_1' };
    expect(JSON.parse(errorFrame(notFound, undefined, 'req_1'))).toEqual({
      type: 'error',
      status: 400,
      sequence_number: 0,
      headers,
      error: {
        headers,
        type: 'invalid_request_error',
        code: 'previous_response_not_found',
        message: "Previous response with id 'resp_gone' not found.",
        param: 'previous_response_id',
      },
    });
  });

  it('echoes a named lane and begins with its type', () => {
    expect(JSON.parse(errorFrame(notFound, 'main'))).toMatchObject({ stream_id: 'main' });
    expect(errorFrame(notFound, 'main').startsWith('{"type":"error","status":400')).toBe(true);
  });

  it('carries retry-after where SDKs look and where Codex looks', () => {
    const frame: unknown = JSON.parse(errorFrame(new ApiError('server_is_overloaded', { retryAfter: 3 })));
    expect(frame).toMatchObject({
      status: 503,
      headers: { 'retry-after': '3' },
      error: { code: 'server_is_overloaded', param: null, headers: { 'retry-after': '3' } },
    });
    expect(errorFrame(new ApiError('server_is_overloaded'))).not.toContain('retry-after');
  });

  it('has a request id of its own where none is given, the same in both places', () => {
    const frames = [errorFrame(notFound), errorFrame(notFound)].map(
      (frame) => JSON.parse(frame) as { headers: object; error: { headers: object } },
    );
    for (const { headers, error } of frames) {
      expect(headers).toEqual({ 'x-request-id': expect.stringMatching(/^req_[0-9a-f]{48}$/) });
      expect(error.headers).toEqual(headers);
    }
    expect(frames[0]?.headers).not.toEqual(frames[1]?.headers);
  });
});

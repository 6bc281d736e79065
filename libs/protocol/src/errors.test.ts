import { describe, expect, it } from '@jest/globals';
import { ApiError, ERRORS, responseErrorCode, type ErrorCode } from './errors.js';

const ROWS = Object.entries(ERRORS) as [ErrorCode, (typeof ERRORS)[ErrorCode]][];

/** Error classes of OpenAI, by the status they come with. */
const TYPE_OF_STATUS: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
};

describe('ERRORS', () => {
  it.each(ROWS)('%s has a status, a class that fits it and a message', (code, [status, type, message]) => {
    expect(code).toMatch(/^[a-z0-9_]+$/);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(600);
    const usual = TYPE_OF_STATUS[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error');
    // OpenAI's own exception: out of money is a class of its own.
    expect(type).toBe(code === 'insufficient_quota' ? code : usual);
    expect(message).toMatch(/^[A-Za-z].*\.$/s);
    expect(message).not.toMatch(/https?:|127\.0\.0\.1|localhost|\bat .*:\d+/);
  });

  it('has the codes and statuses that clients match on', () => {
    const known: Partial<Record<ErrorCode, number>> = {
      previous_response_not_found: 400,
      invalid_stream_id: 400,
      websocket_stream_limit_reached: 400,
      websocket_connection_limit_reached: 400,
      context_length_exceeded: 400,
      invalid_api_key: 401,
      upgrade_required: 426,
      server_is_overloaded: 503,
    };
    for (const [code, status] of Object.entries(known)) {
      expect([code, ERRORS[code as ErrorCode][0]]).toEqual([code, status]);
    }
    expect(ERRORS.websocket_connection_limit_reached[2]).toBe(
      'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
    );
  });
});

describe('ApiError', () => {
  it.each(ROWS)('%s has all four keys in its body', (code, [status, type, message]) => {
    const error = new ApiError(code);
    expect(error.status).toBe(status);
    expect(error.body).toEqual({ type, code, message, param: null });
    expect(JSON.parse(JSON.stringify(error.body))).toEqual({ type, code, message, param: null });
  });

  it('carries the field, a message of its own and the seconds to wait', () => {
    const cause = new Error('secret');
    const error = new ApiError('engine_unavailable', {
      param: 'model',
      message: 'Not now.',
      retryAfter: 3,
      cause,
    });
    expect(error.body).toEqual({
      type: 'server_error',
      code: 'engine_unavailable',
      message: 'Not now.',
      param: 'model',
    });
    expect(error.retryAfter).toBe(3);
    expect(error.cause).toBe(cause);
    expect(JSON.stringify(error.body)).not.toContain('secret');
  });

  it.each(ROWS)('%s names seconds to wait where clients count on them', (code, [status]) => {
    expect(new ApiError(code).retryAfter).toBe(status === 429 ? 1 : undefined);
    expect(new ApiError(code, { retryAfter: 7 }).retryAfter).toBe(7);
  });

  it('takes over what is one, and hides what is not', () => {
    const error = new ApiError('not_found');
    expect(ApiError.from(error)).toBe(error);
    for (const thrown of [new TypeError('at /srv/app.ts:3'), 'text', undefined]) {
      const hidden = ApiError.from(thrown);
      expect(hidden.body).toEqual(new ApiError('server_error').body);
      expect(hidden.cause).toBe(thrown);
    }
  });
});

describe('responseErrorCode', () => {
  it.each<[ErrorCode, string]>([
    ['engine_error', 'server_error'],
    ['engine_unavailable', 'server_error'],
    ['server_error', 'server_error'],
    ['server_restarted', 'server_error'],
    ['server_shutting_down', 'server_error'],
    ['server_is_overloaded', 'rate_limit_exceeded'],
    ['context_length_exceeded', 'context_length_exceeded'],
    ['too_many_queued_responses', 'rate_limit_exceeded'],
    ['invalid_value', 'invalid_prompt'],
  ])('%s is %s in response.failed', (code, expected) => {
    expect(responseErrorCode(code)).toBe(expected);
  });
});

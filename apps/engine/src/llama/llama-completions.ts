import { once } from 'node:events';
import { type ServerResponse } from 'node:http';
import { type Completions } from '../completions.js';
import { EngineStats } from '../generation/stats.js';
import { checkLength, checkModel } from '../http/checks.js';
import { answerContext } from '../http/answer-context.js';
import { parseCompletionRequest } from '../http/completion-request.js';
import { RequestError } from '../http/errors.js';
import { parseObject } from '../http/prompt-bytes.js';
import { onLeave } from '../http/on-leave.js';
import { promptIds } from '../http/prompt-ids.js';
import { JsonSink, StreamSink } from '../http/sinks.js';
import { LlamaGeneration } from './llama-generation.js';
import { LlamaText } from './llama-text.js';
import { type LoadedModel } from './load-model.js';
import { type LlamaModel } from './node-llama-cpp.js';
import { sequenceCopy } from './sequence-copy.js';
import { SequencePool } from './sequence-pool.js';

/** Completions of a model that llama.cpp runs. */
export class LlamaCompletions implements Completions {
  readonly stats = new EngineStats();
  private readonly pool: SequencePool;

  /** @param name what requests call the model */
  constructor(
    private readonly name: string,
    private readonly loaded: LoadedModel,
  ) {
    this.pool = new SequencePool(loaded.context, loaded.sequences, sequenceCopy());
  }

  answer(body: Buffer, response: ServerResponse): void {
    const { model, vocabulary, contextTokens } = this.loaded;
    const fields = parseObject(body.toString('utf8'));
    if (!fields) throw new RequestError(400, 'The request body is not a JSON object.');
    const ids = promptIds(fields.prompt, vocabulary, (text) => encode(text, model));
    const request = parseCompletionRequest(fields);
    checkModel(this.name, request);
    refuseUnsupported(fields, request.images.length);
    checkLength(contextTokens, ids.length, request);

    const record = this.stats.accept(ids.length, 0, request.requestId);
    const text = new LlamaText(model, request.skipSpecialTokens);
    const context = answerContext(this.name, ids, { request, record, text });
    const left = new AbortController();
    onLeave(response, () => left.abort());
    const { signal } = left;
    const generation = new LlamaGeneration(Array.from(ids), request, {
      pool: this.pool,
      model,
      stats: this.stats,
      record,
      sink: request.stream ? new StreamSink(response, context, this.stats) : new JsonSink(response, context),
      signal,
      drained: () => once(response, 'drain', { signal }).catch(() => undefined),
    });
    void generation.run();
  }
}

/** A whole prompt as text, control tokens included, as vLLM takes it. */
function encode(text: string, model: LlamaModel): Int32Array {
  const { bos, shouldPrependBosToken } = model.tokens;
  const ids = model.tokenize(text, true);
  return Int32Array.from(shouldPrependBosToken && bos !== null && ids[0] !== bos ? [bos, ...ids] : ids);
}

function refuseUnsupported(fields: Record<string, unknown>, images: number): void {
  if (images > 0) throw new RequestError(400, 'This model takes no images.', 'content_parts');
  const { structured_outputs: structured } = fields;
  if (structured === undefined || structured === null) return;
  throw new RequestError(400, 'This engine does not bind outputs to a grammar.', 'structured_outputs');
}

import { randomUUID } from 'node:crypto';
import { type ServerResponse } from 'node:http';
import { type HarmonyMessage } from '@turnpike/formats';
import { PrefixCache, type Slot } from './cache/prefix-cache.js';
import { CompletionText } from './generation/completion-text.js';
import { Generation } from './generation/generation.js';
import { outputEnd } from './generation/output-end.js';
import { EngineStats, type RequestRecord } from './generation/stats.js';
import { type CompletionRequest, parseCompletionRequest } from './http/completion-request.js';
import { RequestError } from './http/errors.js';
import { type Intake, PromptIntake } from './http/prompt-intake.js';
import { type AnswerContext, JsonSink, StreamSink } from './http/sinks.js';
import { type PromptImage, promptImages, sharedLength, tokensOf } from './images/prompt-images.js';
import { type SimulatedModel } from './model/simulated-model.js';
import { type Scheduler } from './pacing.js';
import { type EngineSettings } from './settings.js';

/**
 * Longest prompt that is repeated to a client which asks for token ids. vLLM repeats any; that is O(prompt) on the
 * wire and in the client's parser for ids the client has just sent, so a long one is left out here.
 */
const ECHOED_PROMPT_TOKENS = 4096;

/** Takes a request from its bytes to a running generation. */
export class CompletionsService {
  readonly stats = new EngineStats();
  private readonly cache: PrefixCache<HarmonyMessage>;
  private readonly intake: PromptIntake;
  /** What the placeholders of kept sequences stand for. */
  private readonly images = new WeakMap<Slot<HarmonyMessage>, readonly PromptImage[]>();

  constructor(
    private readonly settings: EngineSettings,
    private readonly model: SimulatedModel,
    private readonly scheduler: Scheduler,
  ) {
    this.cache = new PrefixCache(settings.slots);
    this.intake = new PromptIntake(this.cache, model.tokenizer);
  }

  /**
   * Starts to answer. The generation ends with the response, whoever closes it.
   * @throws RequestError for what is refused; nothing has been written then
   */
  answer(body: Buffer, response: ServerResponse): void {
    const receivedAt = this.scheduler.now();
    const intake = this.intake.read(body);
    const request = parseCompletionRequest(intake.fields);
    this.checkModel(request);
    const { slot: matched, tokens: shared } = intake.match;
    const known = (matched && this.images.get(matched)) ?? [];
    const images = promptImages(request.images, { shared, known, tail: intake.tail });
    const promptTokens = tokensOf(intake.length, images);
    const cachedTokens = tokensOf(sharedLength(shared, images, known), images);
    this.checkLength(promptTokens, request);

    const slot = this.cache.admit(intake.match, intake.tail, intake.tailJson);
    this.images.set(slot, images);
    const ids = slot.sequence.ids();
    slot.notes = this.model.reader.scan(ids, slot.notes, shared);
    const sizes = images.map(({ size }) => size);
    const output = this.model.respond(ids, slot.notes, sizes);
    if (output.status !== undefined) throw new RequestError(output.status, `sim status ${output.status}`);

    const record = this.account(intake, promptTokens, cachedTokens);
    const answer = this.answerContext(request, record, ids);
    const sink = request.stream ? new StreamSink(response, answer) : new JsonSink(response, answer);
    const generation = new Generation(
      output,
      outputEnd(output, request.stopTokenIds, request.maxTokens),
      slot,
      this.stats,
      record,
      sink,
      {
        scheduler: this.scheduler,
        firstAt: receivedAt + this.settings.ttftMs + this.prefillMs(record),
        tokensPerSecond: this.settings.tps,
      },
    );
    response.on('close', () => generation.abort());
    response.on('drain', () => generation.resume());
    generation.start();
  }

  private checkModel({ model }: CompletionRequest): void {
    if (model === undefined || model === this.settings.model) return;
    throw new RequestError(404, `The model \`${model}\` does not exist.`, 'model');
  }

  private checkLength(prompt: number, { maxTokens }: CompletionRequest): void {
    const { context } = this.settings;
    if (prompt + maxTokens <= context) return;
    const asked =
      prompt >= context
        ? `your prompt has ${prompt} tokens`
        : `you requested ${prompt + maxTokens} tokens (${prompt} in the prompt, ${maxTokens} for the completion)`;
    const message = `This model's maximum context length is ${context} tokens. However, ${asked}. Please reduce the length of the prompt or of the completion.`;
    throw new RequestError(400, message, 'prompt');
  }

  private account(intake: Intake, promptTokens: number, cachedTokens: number): RequestRecord {
    this.stats.idsParsed += intake.tail.length;
    if (!intake.fast) this.stats.slowBodies++;
    return this.stats.accept(promptTokens, cachedTokens);
  }

  private prefillMs({ prompt_tokens, cached_tokens }: RequestRecord): number {
    return ((prompt_tokens - cached_tokens) * this.settings.prefillUsPerToken) / 1000;
  }

  private answerContext(
    request: CompletionRequest,
    record: AnswerContext['record'],
    ids: Int32Array,
  ): AnswerContext {
    return {
      id: `cmpl-${randomUUID()}`,
      created: Math.floor(Date.now() / 1000),
      model: this.settings.model,
      request,
      record,
      text: new CompletionText(this.model.tokenizer, request.skipSpecialTokens),
      promptIds: request.returnTokenIds && ids.length < ECHOED_PROMPT_TOKENS ? ids : undefined,
    };
  }
}

import { type ServerResponse } from 'node:http';
import { type HarmonyMessage } from '@turnpike/formats';
import { PrefixCache, type Slot } from './cache/prefix-cache.js';
import { type Completions } from './completions.js';
import { CompletionText } from './generation/completion-text.js';
import { Generation } from './generation/generation.js';
import { outputEnd } from './generation/output-end.js';
import { EngineStats, type RequestRecord } from './generation/stats.js';
import { answerContext } from './http/answer-context.js';
import { checkLength, checkModel } from './http/checks.js';
import { parseCompletionRequest } from './http/completion-request.js';
import { RequestError } from './http/errors.js';
import { type Intake, PromptIntake } from './http/prompt-intake.js';
import { onLeave } from './http/on-leave.js';
import { JsonSink, StreamSink } from './http/sinks.js';
import { type PromptImage, promptImages, sharedLength, tokensOf } from './images/prompt-images.js';
import { type SimulatedModel } from './model/simulated-model.js';
import { type Scheduler } from './pacing.js';
import { type EngineSettings } from './settings.js';

/** Takes a request from its bytes to a running generation of the simulated model. */
export class CompletionsService implements Completions {
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

  answer(body: Buffer, response: ServerResponse): void {
    const receivedAt = this.scheduler.now();
    const intake = this.intake.read(body);
    const request = parseCompletionRequest(intake.fields);
    checkModel(this.settings.model, request);
    const { slot: matched, tokens: shared } = intake.match;
    const known = (matched && this.images.get(matched)) ?? [];
    const images = promptImages(request.images, { shared, known, tail: intake.tail });
    const promptTokens = tokensOf(intake.length, images);
    const cachedTokens = tokensOf(sharedLength(shared, images, known), images);
    checkLength(this.settings.context, promptTokens, request);

    const slot = this.cache.admit(intake.match, intake.tail, intake.tailJson);
    this.images.set(slot, images);
    const ids = slot.sequence.ids();
    slot.notes = this.model.reader.scan(ids, slot.notes, shared);
    const sizes = images.map(({ size }) => size);
    const output = this.model.respond(ids, slot.notes, sizes);
    if (output.status !== undefined) throw new RequestError(output.status, `sim status ${output.status}`);

    const record = this.account(intake, promptTokens, cachedTokens, request.requestId);
    const text = new CompletionText(this.model.tokenizer, request.skipSpecialTokens);
    const answer = answerContext(this.settings.model, ids, { request, record, text });
    const sink = request.stream
      ? new StreamSink(response, answer, this.stats)
      : new JsonSink(response, answer);
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
    onLeave(response, () => generation.abort());
    response.on('drain', () => generation.resume());
    generation.start();
  }

  private account(
    intake: Intake,
    promptTokens: number,
    cachedTokens: number,
    requestId: string,
  ): RequestRecord {
    this.stats.idsParsed += intake.tail.length;
    if (!intake.fast) this.stats.slowBodies++;
    return this.stats.accept(promptTokens, cachedTokens, requestId);
  }

  private prefillMs({ prompt_tokens, cached_tokens }: RequestRecord): number {
    return ((prompt_tokens - cached_tokens) * this.settings.prefillUsPerToken) / 1000;
  }
}

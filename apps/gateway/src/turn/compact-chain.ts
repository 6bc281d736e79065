import type { ResponseAssembler } from '@turnpike/assembly';
import { summaryItem } from '@turnpike/conversation';
import type { Usage } from '@turnpike/protocol';
import { Routing } from '@turnpike/routing';
import { packExpansion, type Sealer } from '@turnpike/sealing';
import { artifactOf } from './artifact-of.js';
import { compactedTurn, summarise, type SummaryInput } from './compacting.js';
import type { EventSink } from './event-sink.js';
import type { OpenChain } from './open-chain.js';

export interface ChainCompaction extends Omit<SummaryInput, 'turn' | 'artifacts' | 'sealer'> {
  readonly sealer: Sealer;
  readonly assembler: ResponseAssembler;
  readonly sink: EventSink;
  /** Whether the input is still to be answered behind the summary. */
  readonly answers: boolean;
  /** Told when the summary is there, with what it took. */
  readonly onSummary: (usage: Usage) => void;
}

/**
 * Has the conversation of a response summarised, says so to the client, and lets the chain go on from the summary.
 * @throws as {@link summarise} does
 */
export async function compactChain(chain: OpenChain, compaction: ChainCompaction): Promise<void> {
  const { answers, assembler, onSummary, pipeline, sealer, sink } = compaction;
  sink.send(assembler.beginCompaction());
  const { turn } = chain;
  const { text, usage, artifacts } = await summarise({ ...compaction, turn, artifacts: chain.artifacts });
  chain.become(artifacts);
  onSummary(usage);
  const { contextTokens } = artifactOf(artifacts, Routing);
  const tokens = Math.floor(Math.min(turn.request.compactThreshold ?? Infinity, contextTokens) / 2);
  const expansion = await compactedTurn({ turn, artifacts, pipeline, summary: text, answers, tokens });
  // A client that asked for a summary alone keeps what it wants to keep beside it.
  const carried = answers ? expansion : { items: [summaryItem(text)], replaces: false };
  const { item, frames } = assembler.endCompaction(sealer.seal(turn.tenant, packExpansion(carried)));
  sink.send(frames);
  await chain.fold([{ item, expansion }], 'output');
}

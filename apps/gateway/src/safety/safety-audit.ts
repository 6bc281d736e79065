import { registry } from '@turnpike/telemetry';
import type { Finding, SafetyDecision } from '@turnpike/safety';
import { Counter, Histogram } from 'prom-client';
import type { SafetyConfig } from '../config/schema.js';
import { log } from '../log.js';
import type { OutputDecision } from '../turn/safety-gate.js';

const decisions = new Counter({
  name: 'turnpike_safety_decisions_total',
  help: 'Decisions about inputs and outputs: passed, blocked, or unchecked because no classifier answered.',
  labelNames: ['where', 'state'],
  registers: [registry],
});

const found = new Counter({
  name: 'turnpike_safety_findings_total',
  help: 'What rules and classifiers found, by category.',
  labelNames: ['where', 'category', 'action'],
  registers: [registry],
});

const characters = new Counter({
  name: 'turnpike_safety_characters_total',
  help: 'Characters of outputs that were looked through.',
  registers: [registry],
});

const held = new Histogram({
  name: 'turnpike_safety_held_characters',
  help: 'Most characters of an output that were held back at once.',
  buckets: [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024],
  registers: [registry],
});

/** Findings of one decision that are written down, so that nobody makes a line of the log as long as they like. */
const MOST_FINDINGS = 100;

/** Counts decisions and writes them down: what was decided by which rule and where, and no text unless that is asked for. */
export class SafetyAudit {
  readonly #level: SafetyConfig['audit'];
  readonly #showsText: boolean;

  constructor({ audit, auditText }: Pick<SafetyConfig, 'audit' | 'auditText'>) {
    this.#level = audit;
    this.#showsText = auditText;
  }

  input(decision: SafetyDecision): void {
    const { outcome: state, responseId: response, tenant, policy, findings, categories } = decision;
    decisions.inc({ where: 'input', state });
    for (const { category, action } of findings) found.inc({ where: 'input', category, action });
    for (const category of categories) {
      found.inc({ where: 'input', category, action: state === 'blocked' ? 'block' : 'flag' });
    }
    if (!this.#isLogged(state !== 'passed' || findings.length > 0 || categories.length > 0)) return;
    const text = this.#showsText && decision.store ? { texts: decision.texts } : {};
    const line = {
      where: 'input',
      response,
      tenant,
      state,
      policy,
      findings: findings.slice(0, MOST_FINDINGS).map(shown),
      ...(findings.length > MOST_FINDINGS && { findings_in_all: findings.length }),
      categories,
    };
    log.info({ ...line, ...text }, 'safety decision');
  }

  output({ responseId: response, tenant, blocked, scanner }: OutputDecision): void {
    const state = blocked ? 'blocked' : 'passed';
    const { findings, mostHeld, version: policy } = scanner;
    decisions.inc({ where: 'output', state });
    characters.inc(scanner.characters);
    held.observe(mostHeld);
    for (const { category, action } of findings) found.inc({ where: 'output', category, action });
    if (!this.#isLogged(findings.length > 0)) return;
    const line = { where: 'output', response, tenant, state, policy, findings, most_held: mostHeld };
    log.info(line, 'safety decision');
  }

  #isLogged(isFinding: boolean): boolean {
    return this.#level === 'all' || (this.#level === 'findings' && isFinding);
  }
}

/** A finding without what a client may have named itself: fields of tools and free-form items are its own words. */
function shown({ path, ...finding }: Finding): Finding {
  return { ...finding, path: /^(?:input|tools)\[\d+\]|^[a-z_]+/.exec(path)?.[0] ?? '' };
}

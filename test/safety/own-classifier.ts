import { Injectable } from '@nestjs/common';
import type { ClassifierRequest, ClassifierStrategy, Verdict } from '@turnpike/safety';

/** Where the words come from: any provider of yours. */
@Injectable()
export class Projects {
  readonly secret = ['project heron', 'project osprey'];
}

/** Keeps the names of unannounced projects out of prompts. */
@Injectable()
export class ProjectNames implements ClassifierStrategy {
  readonly name = 'project-names';
  /** Change it when the same text may be judged differently: chains are then classified anew, once. */
  readonly version = '1';

  constructor(private readonly projects: Projects) {}

  async classify({ texts, context }: ClassifierRequest): Promise<Verdict> {
    const said = (context + texts.map(({ text }) => text).join('')).toLowerCase();
    const isNamed = this.projects.secret.some((name) => said.includes(name));
    return isNamed ? { action: 'block', categories: ['privacy'] } : { action: 'pass', categories: [] };
  }
}

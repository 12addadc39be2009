/** Enabled rules that cannot run, for example because a point that they use is no longer in the site file. */
import type { RuleFailureCode } from '../../automation/engine-contract.ts';
import { type AlarmSource, builtIn } from './source.ts';

const reasons: Readonly<Record<RuleFailureCode, string>> = {
  'no-runnable-flow': 'It has no flow.',
  'invalid-flow': 'Its flow is not valid for this site; perhaps a point that it uses is no longer in site.yaml.',
  'invalid-trigger': 'Its trigger is not valid for this site; perhaps a point that it uses is no longer in site.yaml.',
};

export const unrunnableRuleAlarms: AlarmSource = {
  owns: (id) => id.startsWith('rule-not-runnable:'),
  look: ({ unrunnable }) =>
    unrunnable?.map(({ rule_id: id, name, code }) => ({
      facts: builtIn({
        id: `rule-not-runnable:${id}`,
        name: `Rule "${name}" is enabled and cannot run`,
        priority: 'high',
        message: `${reasons[code]} Open the rule to see each problem.`,
      }),
      raw: true,
      delayMs: 0,
    })) ?? null,
};

/** A rule in words, in the console's language and with the names of its site. */

import { sentenceOf } from '../../../src/rules/sentence.ts';
import type { Teller } from '../../../src/rules/teller.ts';
import type { Topology } from '../../../src/rules/topology.ts';
import { type Trigger, triggerKind } from '../../../src/rules/trigger/index.ts';
import { shownDuration, shownNumber } from '../parts/number.ts';
import { t } from '../strings/index.ts';
import type { Content } from './draft-history.ts';
import { type ConsoleCatalogue, pointLabel } from './site-catalogue.ts';

export function ruleInWords(
  { cooldown_ms }: Pick<Content, 'cooldown_ms'>,
  trigger: Trigger | null,
  topology: Topology,
  catalogue: ConsoleCatalogue,
): string {
  return sentenceOf({ trigger, cooldown_ms, topology }, tellerOf(catalogue));
}

/** When a rule with this trigger runs. */
export function triggerInWords(trigger: Trigger, catalogue: ConsoleCatalogue): string {
  return triggerKind(trigger.type).text(trigger, tellerOf(catalogue));
}

function tellerOf(catalogue: ConsoleCatalogue): Teller {
  return {
    words: t.editor.sentence,
    number: shownNumber,
    duration: shownDuration,
    point(ref) {
      const point = catalogue.point(ref);
      return point === undefined ? undefined : { label: pointLabel(point), unit: point.unit };
    },
  };
}

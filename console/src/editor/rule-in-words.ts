/** A rule in the words of the console's language and with the names of its site. */

import { sentenceOf } from '../../../src/rules/sentence.ts';
import type { Topology } from '../../../src/rules/topology.ts';
import type { Trigger } from '../../../src/rules/trigger/index.ts';
import { shownDuration, shownNumber } from '../parts/number.ts';
import { t } from '../strings/index.ts';
import type { Content } from './draft-history.ts';
import { type ConsoleCatalogue, pointLabel } from './site-catalogue.ts';

export function ruleInWords(
  { cooldown_ms }: Content,
  trigger: Trigger | null,
  topology: Topology,
  catalogue: ConsoleCatalogue,
): string {
  return sentenceOf(
    { trigger, cooldown_ms, topology },
    {
      words: t.editor.sentence,
      number: shownNumber,
      duration: shownDuration,
      point(ref) {
        const point = catalogue.point(ref);
        return point === undefined ? undefined : { label: pointLabel(point), unit: point.unit };
      },
    },
  );
}

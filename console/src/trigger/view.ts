/** What the editor knows of a kind of trigger: its words, what it begins as, its form. */
import type { ReactNode } from 'react';
import type { Fields } from '../../../src/rules/issues.ts';
import type { ConsoleCatalogue } from '../editor/site-catalogue.ts';

export interface TriggerForm {
  readonly fields: Fields;
  readonly change: (members: Fields) => void;
  /** What the parser says of the field at this place of the trigger. */
  readonly error: (path: string) => string | undefined;
}

export interface TriggerView<T> {
  readonly label: string;
  /** Of a run, in a list of runs. */
  readonly run: string;
  starting(): object;
  /** When the rule runs, as the beginning of a sentence. */
  text(trigger: T, catalogue: ConsoleCatalogue): string;
  Form(form: TriggerForm): ReactNode;
}

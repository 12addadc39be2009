/** How the editor presents a kind of trigger: labels, initial value, form. */
import type { ReactNode } from 'react';
import type { Fields } from '../../../src/rules/issues.ts';

export interface TriggerForm {
  readonly fields: Fields;
  readonly change: (members: Fields) => void;
  /** The parser's message for the field at this path of the trigger. */
  readonly error: (path: string) => string | undefined;
}

export interface TriggerView {
  readonly label: string;
  /** Label of a run in the history. */
  readonly run: string;
  starting(): object;
  Form(form: TriggerForm): ReactNode;
}

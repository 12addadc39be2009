/** Parameters that are changed while the service runs [points §9]: values of the database over those of the site file. */
import { automation } from '../api/automation.ts';
import type { Answer, CallContext, HandledCapability } from '../api/capability.ts';
import { Fault } from '../base/fault.ts';
import type { Parameter } from '../site/catalogue.ts';
import { type AutomationParts, succeeded } from './automation-parts.ts';
import { parameterView } from './catalogue-view.ts';
import type { ParameterStore } from './store/parameter-store.ts';

type Parameters = Readonly<Record<string, Parameter>>;

/** The parameters in force. A stored value does not count if its parameter is gone or its range no longer allows it. */
export function overlaid(inFile: Parameters, stored: ReadonlyMap<string, number>): Parameters {
  return Object.fromEntries(
    Object.entries(inFile).map(([name, parameter]) => {
      const value = stored.get(name);
      const counts = value !== undefined && value !== parameter.value && isWithin(value, parameter);
      return [name, counts ? { ...parameter, value, fileValue: parameter.value } : parameter];
    }),
  );
}

function isWithin(value: number, { min = value, max = value }: Parameter): boolean {
  return value >= min && value <= max;
}

export interface ParameterParts
  extends Pick<AutomationParts, 'engine' | 'parameters' | 'readParameters' | 'useParameters' | 'inTurn'> {
  readonly stored: ParameterStore;
}

const resource = (params: Readonly<Record<string, string>>) => ({
  kind: 'automation-parameter',
  id: `automation-parameter:${params['name'] ?? ''}`,
});

export function parameterCapabilities(parts: ParameterParts): HandledCapability[] {
  return [
    {
      descriptor: automation.parameterUpdate,
      resource,
      handler: (context) => parts.inTurn(() => update(parts, context)),
    },
    {
      descriptor: automation.parameterReset,
      resource,
      handler: (context) => parts.inTurn(() => reset(parts, context)),
    },
  ];
}

function known(parts: ParameterParts, { params }: CallContext): { readonly name: string; readonly before: Parameter } {
  const name = params['name'] ?? '';
  const before = Object.hasOwn(parts.parameters(), name) ? parts.parameters()[name] : undefined;
  if (before === undefined) throw new Fault('not-found', `the site file has no parameter ${name}`);
  return { name, before };
}

async function update(parts: ParameterParts, context: CallContext): Promise<Answer> {
  const { name, before } = known(parts, context);
  const { value, reason } = context.body as { readonly value: number; readonly reason?: string };
  if (!isWithin(value, before)) {
    const { min = null, max = null } = before;
    const range = `${min ?? 'any'} to ${max ?? 'any'}`;
    throw new Fault('invalid-value', `value ${value} is outside the range ${range} of the parameter`, {
      details: { min, max },
    });
  }
  await parts.stored.put(name, value);
  return changed(parts, name, before, reason === undefined ? {} : { reason });
}

async function reset(parts: ParameterParts, context: CallContext): Promise<Answer> {
  const { name, before } = known(parts, context);
  await parts.stored.remove(name);
  return changed(parts, name, before, {});
}

/** Has the engine take up what is stored by now: rules see it from their next cycle on. */
async function changed(
  parts: ParameterParts,
  name: string,
  before: Parameter,
  noted: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const { parameters } = await parts.readParameters();
  await parts.engine.reload(parameters);
  parts.useParameters(parameters);
  const after = parameters[name] ?? before;
  return {
    data: succeeded(parameterView(name, after)),
    auditDetails: { before: { value: before.value }, after: { value: after.value }, ...noted },
  };
}

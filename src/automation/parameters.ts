/** Parameters that are changed while the service runs [points §9]. */
import { automation } from '../api/automation.ts';
import type { Answer, CallContext, HandledCapability } from '../api/capability.ts';
import { Fault } from '../base/fault.ts';
import type { Parameter } from '../site/catalogue.ts';
import { type AutomationParts, orLater, succeeded } from './automation-parts.ts';
import { parameterView } from './catalogue-view.ts';
import { isAllowed, type SiteParameters } from './parameters-in-force.ts';
import type { ParameterStore } from './store/parameter-store.ts';

export interface ParameterParts extends Pick<AutomationParts, 'engine' | 'parameters' | 'log'> {
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
      handler: (context) => update(parts, context),
    },
    {
      descriptor: automation.parameterReset,
      resource,
      handler: (context) => reset(parts, context),
    },
  ];
}

function known(parameters: SiteParameters, name: string): Parameter {
  const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  if (parameter === undefined) throw new Fault('not-found', `the site file has no parameter ${name}`);
  return parameter;
}

function update(parts: ParameterParts, { params, body }: CallContext): Promise<Answer> {
  const { name = '' } = params;
  const { value, reason } = body as { readonly value: number; readonly reason?: string };
  return changed(parts, name, reason === undefined ? {} : { reason }, async (parameter) => {
    if (!isAllowed(value, parameter)) throw outOfRange(value, parameter);
    await parts.stored.put(name, value);
  });
}

function outOfRange(value: number, parameter: Parameter): Fault {
  const { min = null, max = null } = parameter;
  const range = `${min ?? 'any'} to ${max ?? 'any'}`;
  return new Fault('invalid-value', `value ${value} is outside the range ${range} of the parameter`, {
    details: { min, max },
  });
}

function reset(parts: ParameterParts, { params }: CallContext): Promise<Answer> {
  const { name = '' } = params;
  return changed(parts, name, {}, () => parts.stored.remove(name));
}

/** Stores the change and has the engine apply the stored values: rules use them from their next cycle on. */
async function changed(
  parts: ParameterParts,
  name: string,
  noted: Readonly<Record<string, unknown>>,
  store: (parameter: Parameter) => Promise<void>,
): Promise<Answer> {
  const { parameters, engine, log } = parts;
  const renewed = await parameters.renew(
    (inForce) => orLater(log, engine.takeStored(inForce)),
    async () => {
      await store(known(parameters.current(), name));
      return parameters.current();
    },
  );
  const [before, after] = [known(renewed.before, name), known(renewed.after, name)];
  return {
    data: succeeded(parameterView(name, after)),
    auditDetails: { before: { value: before.value }, after: { value: after.value }, ...noted },
  };
}

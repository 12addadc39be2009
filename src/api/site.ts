/** The site file of a running service as operations [points §1.3]: what a reload would change, the reload, points added to the file. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import { automationCommand, automationQuery, automationQuestion } from './automation-operation.ts';
import * as wire from './automation-schemas.ts';
import { nullable, successOf } from './wire.ts';

/** Points that one call adds. */
export const addedPointsMaximum = 500;

const changed = <T extends Type.TSchema>(item: T) => strict({ added: Type.Array(item), changed: Type.Array(item) });
const changeMembers = {
  /** A channel has changed with its settings or one of its points. */
  channels: changed(Type.String()),
  /** `instance:kind:point`. */
  points: changed(Type.String()),
  instances: changed(Type.Integer()),
  sections: Type.Array(Type.Enum(['name', 'parameters', 'limits', 'alarms'])),
};
const issues = Type.Array(Type.String());
/** What is probably a mistake, or needs other changes too. */
const warnings = Type.Array(Type.String());

/** As in site.yaml: what a point may have is checked with the whole file. */
const pointText = Type.Object({
  id: Type.Integer({ minimum: 0, maximum: 4_294_967_295 }),
  name: Type.String(),
  kind: Type.Enum(['measurement', 'action']),
  unit: Type.String(),
  channel: Type.String(),
});
const pointsMembers = {
  instance: Type.Integer({ minimum: 0, maximum: 4_294_967_295 }),
  instance_name: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'name of the instance, where the site has none of this number',
    }),
  ),
  points: Type.Array(pointText, { minItems: 1, maxItems: addedPointsMaximum }),
};

/** The lines that change, and the number of the first. */
const difference = strict({
  line: Type.Integer(),
  removed: Type.Array(Type.String()),
  added: Type.Array(Type.String()),
});

export const site = {
  changes: automationQuery({
    name: 'automation.site.changes',
    summary: 'List the changes that a reload of the site file would make, and the reasons that prevent it',
    path: '/site/changes',
    params: wire.noParams,
    query: wire.noQuery,
    answer: successOf(strict({ ...changeMembers, issues, warnings })),
  }),
  reload: automationCommand({
    name: 'automation.site.reload',
    summary: 'Apply new points, channels and limits of the site file without a restart',
    method: 'POST',
    path: '/site/reload',
    risk: 'high',
    idempotent: true,
    params: wire.noParams,
    query: wire.noQuery,
    body: wire.optionalConfirmedBody,
    confirmedIn: 'header',
    answer: successOf(
      strict({
        ...changeMembers,
        warnings,
        /** Of the rules that run on the changed site; null when nothing changed, and where another process controls. */
        rules: nullable(
          strict({
            rules_loaded: Type.Integer(),
            rules_failed: Type.Array(strict({ id: wire.ruleId, code: Type.String() })),
          }),
        ),
      }),
    ),
  }),
  previewPoints: automationQuestion({
    name: 'automation.site.preview-points',
    summary: 'Preview the lines that new points add to the site file, with errors and warnings',
    path: '/site/points/preview',
    params: wire.noParams,
    query: wire.noQuery,
    body: strict(pointsMembers),
    answer: successOf(strict({ revision: Type.String(), difference, issues, warnings })),
  }),
  addPoints: automationCommand({
    name: 'automation.site.add-points',
    summary: 'Add points to the site file; a reload applies them',
    method: 'POST',
    path: '/site/points',
    risk: 'medium',
    idempotent: false,
    params: wire.noParams,
    query: wire.noQuery,
    body: strict({
      ...pointsMembers,
      /** Of the preview: the file must not have changed since. */
      revision: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      confirmed: wire.confirmed,
    }),
    answer: successOf(strict({ revision: Type.String(), difference })),
  }),
};

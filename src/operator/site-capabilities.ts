/** The handlers of the site file of a running service [points §1.3]. */
import type { Static } from 'typebox';
import { type Answer, type CallContext, type HandledCapability, success } from '../api/capability.ts';
import { site as descriptors } from '../api/site.ts';
import type { ReloadReport } from '../automation/engine-contract.ts';
import { Fault } from '../base/fault.ts';
import { createTurn } from '../base/in-turn.ts';
import type { Site } from '../site/site.ts';
import type { Changed } from '../site/site-change.ts';
import { textDifference, withPoints } from '../site/site-edit.ts';
import { changeWarnings } from '../site/site-warnings.ts';

export interface SiteChanges {
  readonly channels: Changed<string>;
  readonly points: Changed<string>;
  readonly instances: Changed<number>;
  readonly sections: readonly ('name' | 'parameters' | 'limits' | 'alarms')[];
  /** Why the running service cannot take them up. */
  readonly issues: readonly string[];
  /** What is probably a mistake in them, or needs other changes too. */
  readonly warnings: readonly string[];
}

export interface SiteReload {
  /** Throws a Fault when the file is not valid. */
  changes(): Promise<SiteChanges>;
  /** Throws a Fault where it cannot; then nothing has changed. `rules`: null where nothing changed, or no engine runs here. */
  reload(): Promise<{ readonly changes: SiteChanges; readonly rules: ReloadReport | null }>;
}

export interface SiteOperatorParts {
  readonly file: {
    text(): Promise<string>;
    /** Changes with the text. */
    revisionOf(text: string): string;
    /** Throws a Fault that names everything that is wrong. */
    read(text: string): Site;
    write(text: string): Promise<void>;
  };
  readonly reload: SiteReload;
}

const siteResource = () => ({ kind: 'automation-site', id: 'automation-site' });

export function siteCapabilities(parts: SiteOperatorParts): HandledCapability[] {
  /** Changes of the file, one after the other: the next one begins with what the last one wrote. */
  const inTurn = createTurn();
  return [
    { descriptor: descriptors.changes, resource: siteResource, handler: () => changes(parts) },
    { descriptor: descriptors.reload, resource: siteResource, handler: () => reload(parts) },
    { descriptor: descriptors.previewPoints, resource: siteResource, handler: (context) => preview(parts, context) },
    {
      descriptor: descriptors.addPoints,
      resource: siteResource,
      handler: (context) => inTurn(() => add(parts, context)),
    },
  ];
}

/** An invalid file is a finding of this query, not a refusal. */
async function changes({ reload: site }: SiteOperatorParts): Promise<Answer> {
  try {
    return success(await site.changes());
  } catch (error) {
    const none = { added: [], changed: [] };
    return success({
      channels: none,
      points: none,
      instances: none,
      sections: [],
      issues: issuesOf(error),
      warnings: [],
    });
  }
}

async function reload({ reload: site }: SiteOperatorParts): Promise<Answer> {
  const { changes: all, rules } = await site.reload();
  const { issues: _, warnings, ...changed } = all;
  return { ...success({ ...changed, warnings, rules }), auditDetails: { ...changed, ...rules } };
}

type Points = Static<typeof descriptors.previewPoints.body>;

/** The text with the points, its errors, and the warnings that the points add. */
async function edited({ file }: SiteOperatorParts, { instance, instance_name: name, points }: Points) {
  const before = await file.text();
  const current = file.read(before);
  const known = current.instances.some(({ id }) => id === instance);
  if (!known && name === undefined)
    throw new Fault('invalid-input', `body /instance_name: the site has no instance ${instance}; give a name for it`);
  if (known && name !== undefined)
    throw new Fault('invalid-input', `body /instance_name: instance ${instance} already exists; omit the name`);
  const added = points.map((point, row) => ({ row, instance, instanceName: name ?? null, point }));
  const { text } = withPoints(before, added);
  const next = (() => {
    try {
      return file.read(text);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return error;
    }
  })();
  const refused = next instanceof Fault ? next : null;
  const warnings = next instanceof Fault ? [] : changeWarnings(current, next);
  return { before, text, refused, warnings, difference: textDifference(before, text) };
}

async function preview(parts: SiteOperatorParts, { body }: CallContext): Promise<Answer> {
  const { before, refused, warnings, difference } = await edited(parts, body as Points);
  const issues = refused === null ? [] : issuesOf(refused);
  return success({ revision: parts.file.revisionOf(before), difference, issues, warnings });
}

async function add(parts: SiteOperatorParts, { body }: CallContext): Promise<Answer> {
  const given = body as Static<typeof descriptors.addPoints.body>;
  const { before, text, refused, difference } = await edited(parts, given);
  const { revision } = given;
  if (revision !== undefined && revision !== parts.file.revisionOf(before))
    throw new Fault('revision-conflict', 'the site file has changed since it was read; check the preview again');
  if (refused !== null) throw refused;
  await parts.file.write(text);
  const names = given.points.map(({ kind, id }) => `${given.instance}:${kind}:${id}`);
  return {
    ...success({ revision: parts.file.revisionOf(text), difference }),
    auditDetails: { points: names, revision: parts.file.revisionOf(text) },
  };
}

function issuesOf(error: unknown): readonly string[] {
  const issues = error instanceof Fault ? error.details?.['issues'] : undefined;
  if (!Array.isArray(issues)) throw error;
  return issues.map(String);
}

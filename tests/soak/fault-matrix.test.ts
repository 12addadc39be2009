/**
 * Every class of fault on one machine and on three: control continues as far as the fault allows, nothing acknowledged is lost, a
 * cooldown holds, and the site is healthy afterwards. Prints what happened; SVC_TEST_ROUNDS sets the number of rounds (default 3).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../e2e/running-service.ts';
import { setpointWrites } from '../e2e/several-machines.ts';
import { type FaultClass, faultClasses, faultMs, nowMs } from './fault-classes.ts';
import {
  chainFaults,
  drawRules,
  editAgainAndAgain,
  type FaultSite,
  longestPause,
  type SiteRules,
  startFaultSite,
  turnsOfControl,
  violations,
} from './fault-site.ts';

const rounds = Number(process.env['SVC_TEST_ROUNDS'] ?? 3);
const deadlineMs = 120_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A cooldown is stored by the first commit after its command, which begins within 50 ms on a busy machine. */
const commitMs = 100;

interface Figures {
  pauseMs: number;
  acknowledged: number;
  refused: number;
  readonly violations: string[];
}

/** One fault, from a healthy site to a healthy site. */
async function strike(site: FaultSite, rules: SiteRules, fault: FaultClass, seed: number): Promise<Figures> {
  await commandsFlow(site);
  const edits = editAgainAndAgain(site, rules.commanding);
  const [begunMs, begunWallMs] = [nowMs(), Date.now()];
  const end = await fault.begin(site, seed);
  const brokenWallMs = Date.now();
  await pause(faultMs);
  await end?.();
  await commandsFlow(site);
  const endedMs = nowMs();
  // Rows missing from the last commit before the fault belong to the fault.
  if (fault.unstored !== undefined)
    site.unstored.push({
      fromMs: begunWallMs - commitMs,
      toMs: fault.unstored === 'during' ? Date.now() : brokenWallMs,
    });
  const { acknowledged, refused, faults } = await edits.stop();
  const found = [...faults, ...(await violations(site, rules, acknowledged))];
  const pauseMs = longestPause(site, begunMs, endedMs);
  if (pauseMs > fault.pauseMs) found.push(`commands stayed away for ${pauseMs.toFixed(0)} ms`);
  const turns = turnsOfControl(site, begunMs);
  if (turns > fault.takeovers) found.push(`control changed hands ${turns} times`);
  return { pauseMs, acknowledged, refused, violations: found };
}

/** Five commands in a row reach a device. */
async function commandsFlow(site: FaultSite): Promise<void> {
  const count = (): number => site.machines.reduce((sum, machine) => sum + setpointWrites(machine).length, 0);
  const before = count();
  await waitFor(() => count() >= before + 5 || undefined, 60_000);
}

describe.each(['one machine', 'three machines'] as const)('%s', (kind) => {
  let site: FaultSite;
  let rules: SiteRules;
  const lines: string[] = [];
  beforeAll(async () => {
    site = await startFaultSite(kind);
    const [{ service } = { service: null }] = site.machines;
    if (service === null) throw new Error('the site has no machine');
    rules = await drawRules(service);
  }, deadlineMs);
  afterAll(async () => {
    console.log(`${kind}:\n${lines.join('\n')}`);
    await site.close();
  });

  test.each(faultClasses.filter(({ where }) => where === 'both' || where === kind))(
    '$name',
    { timeout: rounds * deadlineMs },
    async (fault) => {
      const seen: Figures = { pauseMs: 0, acknowledged: 0, refused: 0, violations: [] };
      for (let round = 0; round < rounds; round++) {
        const one = await strike(site, rules, fault, round + Math.floor(nowMs()));
        seen.pauseMs = Math.max(seen.pauseMs, one.pauseMs);
        seen.refused += one.refused;
        seen.violations.push(...one.violations);
      }
      lines.push(
        `  ${fault.name}: ${rounds} times, commands away for at most ${seen.pauseMs.toFixed(0)} ms, ${seen.refused} changes refused, ${seen.violations.length} violations`,
      );
      expect(seen.violations).toEqual([]);
    },
  );

  test('the audit chain holds after all of it', () => {
    expect(chainFaults(site)).toEqual([]);
  });
});

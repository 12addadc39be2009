/** Live values of the site, by its own numbering: a standby is connected to no device and asks the leader. */
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { EngineRole } from '../cluster/engine-role.ts';
import { type Numbering, numberingOf, renumbered } from '../points/numbering.ts';
import { createSampler, type TableSample } from '../points/sample.ts';
import type { PointMemory } from '../points/shared-memory.ts';
import { madeOfSite, type ReadSite } from '../site/site-in-force.ts';

interface LiveSampleParts {
  readonly site: ReadSite;
  readonly memory: PointMemory;
  readonly role: () => Pick<EngineRole, 'controls' | 'engine'>;
  readonly log: Log;
}

/** Maximum number of points that a warning names. */
const namedMax = 5;

export function liveSample({ site, memory, role, log }: LiveSampleParts): () => Promise<TableSample | null> {
  const sampler = madeOfSite(site, ({ points, channels }) =>
    createSampler(memory, points.length, channels.length, systemClock),
  );
  const numbering = madeOfSite(site, numberingOf);
  const compare = comparedSites(log);
  return async () => {
    if (role().controls()) return sampler()();
    const before = numbering();
    const answer = await role().engine.ask('sample', { known: before.digest });
    const [from, to] = [answer.numbering ?? before, numbering()];
    compare(from, to);
    return answer.sample === null || from.digest === to.digest ? answer.sample : renumbered(answer.sample, from, to);
  };
}

/** Warns once of each difference between the points of the leader and those of this process. */
function comparedSites(log: Log): (leader: Numbering, own: Numbering) => void {
  let known = '';
  return (leader, own) => {
    const compared = `${leader.digest} ${own.digest}`;
    if (compared === known) return;
    known = compared;
    const [leaders, owns] = [new Set(leader.points), new Set(own.points)];
    const [there, here] = [
      leader.points.filter((point) => !owns.has(point)),
      own.points.filter((point) => !leaders.has(point)),
    ];
    if (there.length + here.length > 0)
      log.warn('the controlling process has other points: give all machines the same site.yaml', {
        only_there: there.length,
        only_here: here.length,
        such_as: [...there, ...here].slice(0, namedMax),
      });
  };
}

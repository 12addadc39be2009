/** The site database: rules and audit, the site's durable truth. Every commit is on disk before it is answered. */
import { type Clock, systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type Database, type DatabasePlace, openHandle, openHandleApart } from '../storage/database.ts';
import { siteSchema } from './schemas.ts';

export function openDatabase(place: DatabasePlace, clock = systemClock): Database {
  return openHandle(place, siteSchema, { durability: 'full' }, clock);
}

/** For a process that must not stand still while a disk does. */
export function openDatabaseApart(place: DatabasePlace, clock: Clock, log: Log): Promise<Database> {
  return openHandleApart(place, siteSchema, clock, log);
}

/**
 * Residual carry-over: a forecast that is too low now is often too low in the next hours. Regression coefficients per lead, on the
 * mean residual of the last hour and of the last day, are fitted on out-of-fold residuals and used only where they reduce them.
 */

import { WindowMeans } from './statistics.ts';

export interface Carry {
  /** Leads, in cells, for which coefficients were fitted, ascending. */
  readonly leads: Float64Array;
  /** Coefficient of the last hour's mean residual at each lead. */
  readonly hourShare: Float64Array;
  /** Coefficient of the last day's mean residual. */
  readonly dayShare: Float64Array;
  /** Residual scale at each lead after carry-over, relative to the scale without it. */
  readonly left: Float64Array;
}

const leadHours = [0.5, 1.5, 2.5, 4, 6, 9, 12, 18, 24];
/** Prior weight in observations: few residuals carry nothing over. */
const doubtRows = 60;
/** Minimum relative improvement on the training residuals. */
const gainMin = 0.005;

/** Mean of the `length` cells that end with `cell`; 0 when none is known: unobserved cells carry nothing over. */
function meanBefore(means: WindowMeans, cell: number, length: number): number {
  return means.mean(cell - length, cell) || 0;
}

export function learnCarry(misses: Float64Array, perDay: number): Carry {
  const perHour = Math.max(1, Math.round(perDay / 24));
  const leads = Float64Array.from(leadHours, (hours) => Math.max(1, Math.round((hours * perDay) / 24)));
  const means = new WindowMeans(misses);
  const hourShare = new Float64Array(leads.length);
  const dayShare = new Float64Array(leads.length);
  const left = new Float64Array(leads.length);
  for (let index = 0; index < leads.length; index++) {
    const own = learnLead(misses, means, leads[index] as number, perHour, perDay);
    hourShare[index] = own.hour;
    dayShare[index] = own.day;
    left[index] = own.left;
  }
  return { leads, hourShare, dayShare, left };
}

function learnLead(
  misses: Float64Array,
  means: WindowMeans,
  lead: number,
  perHour: number,
  perDay: number,
): { hour: number; day: number; left: number } {
  let [hh, hd, dd, hy, dy, rows] = [0, 0, 0, 0, 0, 0];
  for (let cell = perDay - 1; cell + lead < misses.length; cell++) {
    const target = misses[cell + lead] as number;
    if (target !== target) continue;
    const hour = meanBefore(means, cell, perHour);
    const day = meanBefore(means, cell, perDay);
    hh += hour * hour;
    hd += hour * day;
    dd += day * day;
    hy += hour * target;
    dy += day * target;
    rows++;
  }
  const shrink = 1 + doubtRows / (rows + 1);
  const determinant = hh * shrink * (dd * shrink) - hd * hd;
  if (!(determinant > 0)) return { hour: 0, day: 0, left: 1 };
  const hour = clip((hy * dd * shrink - dy * hd) / determinant);
  const day = clip((dy * hh * shrink - hy * hd) / determinant);
  let plain = 0;
  let carried = 0;
  for (let cell = perDay - 1; cell + lead < misses.length; cell++) {
    const target = misses[cell + lead] as number;
    if (target !== target) continue;
    plain += Math.abs(target);
    carried += Math.abs(target - hour * meanBefore(means, cell, perHour) - day * meanBefore(means, cell, perDay));
  }
  return carried < (1 - gainMin) * plain ? { hour, day, left: carried / plain } : { hour: 0, day: 0, left: 1 };
}

function clip(share: number): number {
  return Math.max(0, Math.min(1, share));
}

export interface CarriedOver {
  /** The correction of each step. */
  readonly added: Float64Array;
  /** The factor by which each step's spread is smaller. */
  readonly spread: Float64Array;
}

/** Correction of each step after the newest of `misses`; beyond the last fitted lead it decays within a day. */
export function carryOver(carry: Carry, misses: Float64Array, horizon: number, perDay: number): CarriedOver {
  const perHour = Math.max(1, Math.round(perDay / 24));
  const means = new WindowMeans(misses);
  const hour = meanBefore(means, misses.length - 1, perHour);
  const day = meanBefore(means, misses.length - 1, perDay);
  const last = carry.leads[carry.leads.length - 1] as number;
  const added = new Float64Array(horizon);
  const spread = new Float64Array(horizon).fill(1);
  for (let step = 0; step < horizon; step++) {
    const lead = step + 1;
    const fading = lead <= last ? 1 : Math.max(0, 1 - (lead - last) / perDay);
    added[step] =
      fading * (at(carry.leads, carry.hourShare, lead) * hour + at(carry.leads, carry.dayShare, lead) * day);
    spread[step] = 1 - fading * (1 - at(carry.leads, carry.left, lead));
  }
  return { added, spread };
}

function at(leads: Float64Array, shares: Float64Array, lead: number): number {
  const next = leads.findIndex((own) => own >= lead);
  if (next < 0) return shares[shares.length - 1] as number;
  if (next === 0) return shares[0] as number;
  const from = leads[next - 1] as number;
  const to = leads[next] as number;
  const part = to > from ? (lead - from) / (to - from) : 1;
  return (shares[next - 1] as number) + part * ((shares[next] as number) - (shares[next - 1] as number));
}

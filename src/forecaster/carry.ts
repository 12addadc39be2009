/**
 * Residual carry-over: a forecast that is too low now is often too low in the next hours. Coefficients per lead, of the mean residual
 * of the last hour and of the last day, are fitted on out-of-fold residuals, and used only where they also reduce those of other parts
 * of the history.
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
  /** Mean absolute residual in each cell of the day. */
  readonly usual: Float64Array;
}

const leadHours = [0.5, 1.5, 2.5, 4, 6, 9, 12, 18, 24];
/** Prior weight in observations: few residuals carry nothing over. */
const doubtRows = 60;
/** Minimum relative improvement on the parts of the history that a fit has not seen. */
const gainMin = 0.005;
/** Contiguous parts of the history: neighbouring residuals are alike, so that single ones would prove nothing. */
const parts = 4;
/** Nothing is carried into cells of the day whose residuals are usually below this share of the day's mean: their level is known. */
const quietShare = 0.25;
/** Smallest usual residual of a cell of the day, relative to that of the whole day. */
const usualMin = 0.02;

/** Mean of the `length` cells that end with `cell`; 0 when none is known: unobserved cells carry nothing over. */
function meanBefore(means: WindowMeans, cell: number, length: number): number {
  return means.mean(cell - length, cell) || 0;
}

/** Mean absolute residual per cell of the day. */
function usualMisses(misses: Float64Array, perDay: number): Float64Array {
  const sizes = misses.map((miss) => Math.abs(miss));
  const whole = meanBefore(new WindowMeans(sizes), sizes.length - 1, sizes.length) || 1;
  return Float64Array.from({ length: perDay }, (_, slot) => {
    let [sum, rows] = [0, 0];
    for (let cell = slot; cell < sizes.length; cell += perDay) {
      const size = sizes[cell] as number;
      if (size !== size) continue;
      sum += size;
      rows++;
    }
    return rows === 0 ? whole : Math.max(usualMin * whole, sum / rows);
  });
}

/**
 * The newest residuals, for a cell that they are carried to: in proportion where residuals are usually smaller, nothing where they are
 * small, as in a pause or at night, and no more where they are larger.
 */
class NewestMisses {
  readonly #means;
  readonly #usual;
  readonly #perDay;
  readonly #perHour;
  /** Mean of `usual` over the hour that ends with a cell of the day, and over the day. */
  readonly #usualHour;
  readonly #usualDay;

  constructor(misses: Float64Array, usual: Float64Array) {
    this.#means = new WindowMeans(misses);
    this.#usual = usual;
    this.#perDay = usual.length;
    this.#perHour = Math.max(1, Math.round(usual.length / 24));
    const twice = new WindowMeans(Float64Array.of(...usual, ...usual));
    this.#usualHour = usual.map((_, slot) => meanBefore(twice, slot + usual.length, this.#perHour));
    this.#usualDay = meanBefore(twice, usual.length - 1, usual.length);
  }

  /** Mean residual of the hour up to `cell`. */
  hour(cell: number, to: number): number {
    return (
      meanBefore(this.#means, cell, this.#perHour) * this.#part(this.#usualHour[cell % this.#perDay] as number, to)
    );
  }

  /** Mean residual of the day up to `cell`. */
  day(cell: number, to: number): number {
    return meanBefore(this.#means, cell, this.#perDay) * this.#part(this.#usualDay, to);
  }

  /** Mean absolute residual at the cell's time of day. */
  usual(cell: number): number {
    return this.#usual[cell % this.#perDay] as number;
  }

  #part(usual: number, to: number): number {
    const own = this.usual(to);
    return own < quietShare * this.#usualDay ? 0 : Math.min(1, own / usual);
  }
}

/** Residuals `lead` cells after the newest ones. */
interface Lead {
  readonly misses: Float64Array;
  readonly newest: NewestMisses;
  readonly lead: number;
}

interface Shares {
  readonly hour: number;
  readonly day: number;
}

export function learnCarry(misses: Float64Array, perDay: number): Carry {
  const usual = usualMisses(misses, perDay);
  const newest = new NewestMisses(misses, usual);
  const leads = Float64Array.from(leadHours, (hours) => Math.max(1, Math.round((hours * perDay) / 24)));
  const found = Array.from(leads, (lead) => learnLead({ misses, newest, lead }, perDay - 1));
  return {
    leads,
    hourShare: Float64Array.from(found, ({ hour }) => hour),
    dayShare: Float64Array.from(found, ({ day }) => day),
    left: Float64Array.from(found, ({ left }) => left),
    usual,
  };
}

function learnLead(of: Lead, from: number): Shares & { readonly left: number } {
  const to = of.misses.length - of.lead;
  let [plain, carried, plainWidth, carriedWidth] = [0, 0, 0, 0];
  for (let part = 0; part < parts; part++) {
    const low = from + Math.floor(((to - from) * part) / parts);
    const high = from + Math.floor(((to - from) * (part + 1)) / parts);
    const shares = bestShares(of, low, high);
    for (const [first, end] of [
      [from, low],
      [high, to],
    ] as const) {
      const unseen = errorsWith(shares, of, first, end);
      plain += unseen.plain;
      carried += unseen.carried;
      plainWidth += unseen.plainWidth;
      carriedWidth += unseen.carriedWidth;
    }
  }
  if (!(carried < (1 - gainMin) * plain)) return { hour: 0, day: 0, left: 1 };
  // The residuals that the coefficients were fitted to are smaller than others.
  return { ...bestShares(of, from, to), left: Math.min(1, carriedWidth / plainWidth) };
}

/** By least squares over the cells from `from` up to `to`, exclusive. */
function bestShares({ misses, newest, lead }: Lead, from: number, to: number): Shares {
  let [hh, hd, dd, hy, dy, rows] = [0, 0, 0, 0, 0, 0];
  for (let cell = from; cell < to; cell++) {
    const target = misses[cell + lead] as number;
    if (target !== target) continue;
    const hour = newest.hour(cell, cell + lead);
    const day = newest.day(cell, cell + lead);
    hh += hour * hour;
    hd += hour * day;
    dd += day * day;
    hy += hour * target;
    dy += day * target;
    rows++;
  }
  const shrink = 1 + doubtRows / (rows + 1);
  const determinant = hh * shrink * (dd * shrink) - hd * hd;
  if (!(determinant > 0)) return { hour: 0, day: 0 };
  return {
    hour: clip((hy * dd * shrink - dy * hd) / determinant),
    day: clip((dy * hh * shrink - hy * hd) / determinant),
  };
}

/** Sums of absolute residuals, as they are and after carry-over. */
function errorsWith({ hour, day }: Shares, { misses, newest, lead }: Lead, from: number, to: number) {
  let [plain, carried, plainWidth, carriedWidth] = [0, 0, 0, 0];
  for (let cell = from; cell < to; cell++) {
    const target = misses[cell + lead] as number;
    if (target !== target) continue;
    const left = Math.abs(target - hour * newest.hour(cell, cell + lead) - day * newest.day(cell, cell + lead));
    const usual = newest.usual(cell + lead);
    plain += Math.abs(target);
    carried += left;
    plainWidth += Math.abs(target) / usual;
    carriedWidth += left / usual;
  }
  return { plain, carried, plainWidth, carriedWidth };
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
export function carryOver(carry: Carry, misses: Float64Array, horizon: number): CarriedOver {
  const perDay = carry.usual.length;
  const newest = new NewestMisses(misses, carry.usual);
  const cell = misses.length - 1;
  const last = carry.leads[carry.leads.length - 1] as number;
  const added = new Float64Array(horizon);
  const spread = new Float64Array(horizon).fill(1);
  for (let step = 0; step < horizon; step++) {
    const lead = step + 1;
    const fading = lead <= last ? 1 : Math.max(0, 1 - (lead - last) / perDay);
    const hour = at(carry.leads, carry.hourShare, lead) * newest.hour(cell, cell + lead);
    added[step] = fading * (hour + at(carry.leads, carry.dayShare, lead) * newest.day(cell, cell + lead));
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

/**
 * The plant of a closed-loop backtest [rules §10.6]: a battery that follows a setpoint between a load, a PV system and the grid.
 * Between two changes all powers are constant, so energies are exact over any time. Power in kW, energy in kWh; load
 * consumes, PV and battery deliver, the grid imports when positive.
 */
import { hourMs } from '../../base/timestamp.ts';

export interface BatteryFacts {
  readonly capacityKwh: number;
  readonly maxPowerKw: number;
  /** Round trip: its square root applies each way. */
  readonly efficiency: number;
}

export interface PlantEnergies {
  readonly charged_kwh: number;
  readonly discharged_kwh: number;
  readonly imported_kwh: number;
  readonly exported_kwh: number;
  readonly losses_kwh: number;
}

export class PlantModel {
  readonly #battery: BatteryFacts;
  readonly #oneWay: number;
  #atMs: number;
  #socKwh: number;
  #setpointKw = 0;
  /** NaN while unknown. */
  #loadKw = Number.NaN;
  #pvKw = Number.NaN;
  #unknownMs = 0;
  readonly #energies = { charged_kwh: 0, discharged_kwh: 0, imported_kwh: 0, exported_kwh: 0, losses_kwh: 0 };

  /** `socPercent` at `atMs`. */
  constructor(battery: BatteryFacts, socPercent: number, atMs: number) {
    this.#battery = battery;
    this.#oneWay = Math.sqrt(battery.efficiency);
    this.#socKwh = (battery.capacityKwh * socPercent) / 100;
    this.#atMs = atMs;
  }

  /** Sets the setpoint from now on; the battery follows within its rating and its charge. */
  command(atMs: number, setpointKw: number): void {
    this.advance(atMs);
    this.#setpointKw = setpointKw;
  }

  /** Sets load and PV from now on; NaN if unknown. */
  setInputs(atMs: number, loadKw: number, pvKw: number): void {
    if (Object.is(loadKw, this.#loadKw) && Object.is(pvKw, this.#pvKw)) return;
    this.advance(atMs);
    this.#loadKw = loadKw;
    this.#pvKw = pvKw;
  }

  /** Advances to that moment. */
  advance(atMs: number): void {
    const hours = (atMs - this.#atMs) / hourMs;
    if (hours <= 0) return;
    this.#atMs = atMs;
    const powerKw = this.batteryKw();
    const left = this.#hoursLeft(powerKw);
    // If it is empty or full before the end, it is idle for the rest.
    const movingHours = Math.min(hours, left);
    this.#move(powerKw, movingHours);
    if (movingHours === left) this.#socKwh = powerKw > 0 ? 0 : this.#battery.capacityKwh;
    this.#exchange(powerKw, movingHours);
    this.#exchange(0, hours - movingHours);
    if (!Number.isFinite(this.#loadKw - this.#pvKw)) this.#unknownMs += hours * hourMs;
  }

  socPercent(): number {
    return (100 * this.#socKwh) / this.#battery.capacityKwh;
  }

  /** Power from now on; none out of an empty battery, and none into a full one. */
  batteryKw(): number {
    const { maxPowerKw } = this.#battery;
    const wanted = Math.min(maxPowerKw, Math.max(-maxPowerKw, this.#setpointKw));
    return this.#hoursLeft(wanted) > 0 ? wanted : 0;
  }

  /** NaN while load or PV are unknown. */
  gridKw(): number {
    return this.#loadKw - this.#pvKw - this.batteryKw();
  }

  energies(): PlantEnergies {
    return { ...this.#energies };
  }

  /** How long load or PV were unknown: exchange with the grid is not counted for that time. */
  unknownMs(): number {
    return this.#unknownMs;
  }

  #hoursLeft(powerKw: number): number {
    if (powerKw > 0) return (this.#socKwh * this.#oneWay) / powerKw;
    if (powerKw < 0) return (this.#battery.capacityKwh - this.#socKwh) / (-powerKw * this.#oneWay);
    return Number.POSITIVE_INFINITY;
  }

  #move(powerKw: number, hours: number): void {
    const energies = this.#energies;
    const kwh = Math.abs(powerKw) * hours;
    const storedKwh = powerKw > 0 ? -kwh / this.#oneWay : kwh * this.#oneWay;
    this.#socKwh = Math.min(this.#battery.capacityKwh, Math.max(0, this.#socKwh + storedKwh));
    energies[powerKw > 0 ? 'discharged_kwh' : 'charged_kwh'] += kwh;
    energies.losses_kwh += Math.abs(kwh - Math.abs(storedKwh));
  }

  #exchange(batteryKw: number, hours: number): void {
    const kwh = (this.#loadKw - this.#pvKw - batteryKw) * hours;
    if (kwh > 0) this.#energies.imported_kwh += kwh;
    if (kwh < 0) this.#energies.exported_kwh -= kwh;
  }
}

/** Says what changed to Home Assistant [points §3.5]: discovery after each connection, states as they change, while this process controls. */
import type { EngineClient } from '../automation/engine-client.ts';
import type { RuleStore } from '../automation/store/rule-store.ts';
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { DeviceLayer } from '../devices/device-layer.ts';
import type { TableSample } from '../points/sample.ts';
import type { Site } from '../site/site.ts';
import { discoveryMessages, isPublishedTopic, type PublishedRule, stateMessages } from './home-assistant.ts';

export interface PublisherParts {
  readonly site: () => Site;
  readonly sample: () => Promise<TableSample | null>;
  readonly devices: Pick<DeviceLayer, 'texts'>;
  readonly engine: Pick<EngineClient, 'ask'>;
  readonly store: Pick<RuleStore, 'heads' | 'names'>;
  readonly controls: () => boolean;
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** The connection. */
interface Outlet {
  publish(topic: string, payload: string): boolean;
  stop(): Promise<void>;
}

/** What the connection reports. */
interface OutletEvents {
  /** Connected: what the broker retains is unknown. */
  connected(): void;
  /** A message that the broker retains. */
  retained(topic: string, payload: string): void;
}

export class HomeAssistantPublisher {
  readonly #parts: PublisherParts;
  readonly #open: (events: OutletEvents) => Outlet;
  /** While this process controls: of two that share a site only one says that it is there. */
  #outlet: Outlet | undefined;
  /** The retained messages of the broker, by topic. */
  #said = new Map<string, string>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(parts: PublisherParts, open: (events: OutletEvents) => Outlet) {
    this.#parts = parts;
    this.#open = open;
    this.#again();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#close();
  }

  async #close(): Promise<void> {
    const outlet = this.#outlet;
    this.#outlet = undefined;
    await outlet?.stop();
  }

  #again(): void {
    if (this.#stopped) return;
    const { clock, intervalMs, log } = this.#parts;
    this.#timer = clock.after(intervalMs, () => {
      void this.#round()
        .catch((error: unknown) => log.warn('nothing was published', { reason: String(error) }))
        .then(() => this.#again());
    });
  }

  async #round(): Promise<void> {
    const { sample, devices, controls } = this.#parts;
    const site = this.#parts.site();
    if (!controls()) return this.#close();
    const outlet = (this.#outlet ??= this.#open(this.#events));
    const [now, texts, rules] = await Promise.all([sample(), devices.texts(), this.#rules()]);
    const held = new Map(texts.map(({ index, text }) => [index, text]));
    const messages = new Map([...discoveryMessages(site, rules), ...stateMessages(site, now, held, rules)]);
    // Messages that the outlet does not accept now go in the next round.
    for (const [topic, payload] of messages)
      if (this.#said.get(topic) !== payload && outlet.publish(topic, payload)) this.#said.set(topic, payload);
    // An empty message removes the sensor of a rule or point that is gone, also of one that an earlier process published.
    for (const topic of this.#said.keys())
      if (!messages.has(topic) && outlet.publish(topic, '')) this.#said.delete(topic);
  }

  readonly #events: OutletEvents = {
    connected: () => {
      this.#said = new Map();
    },
    retained: (topic, payload) => {
      if (payload === '' || this.#said.has(topic) || !isPublishedTopic(this.#parts.site(), topic)) return;
      this.#said.set(topic, payload);
    },
  };

  async #rules(): Promise<PublishedRule[]> {
    const { store, engine } = this.#parts;
    const ids = (await store.heads()).map(({ id }) => id);
    const [names, states] = await Promise.all([
      store.names(ids),
      engine.ask('explain', { ruleIds: ids }).catch(() => []),
    ]);
    return ids.map((id, at) => ({ id, name: names.get(id) ?? `rule ${id}`, state: states[at]?.state ?? null }));
  }
}

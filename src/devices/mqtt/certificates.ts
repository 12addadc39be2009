/** How long the certificates of MQTT channels [points §3.2] are valid, for the alarm about those that end soon [alarms §2.2]. */
import { type Validity, validityOf } from '../../base/validity.ts';
import type { Channel } from '../../site/protocol/index.ts';
import type { MqttCredentials } from '../driver/mqtt.ts';
import { certificatesIn } from './tls-files.ts';

export interface KnownCertificate {
  readonly what: string;
  /** Null while it is not known, because the channel has not been connected. */
  readonly validity: Validity | null;
}

/** The files of the channels, whose contents are in `credentials`. */
export function fileCertificates(
  channels: readonly Channel[],
  credentials: ReadonlyMap<string, MqttCredentials>,
): KnownCertificate[] {
  return channels.flatMap((channel) => {
    if (channel.driver !== 'mqtt') return [];
    const { ca, cert } = credentials.get(channel.id) ?? {};
    const named = (file: string | undefined, validity: Validity | undefined) =>
      validity === undefined ? [] : [{ what: `${file} of channel ${channel.id}`, validity }];
    // A chain is valid while all of its certificates are; of several authorities, one is enough.
    return [...named(channel.cert_file, byEnd(cert)[0]), ...named(channel.ca_file, byEnd(ca).at(-1))];
  });
}

/** Those of a PEM text, the first to end first. */
function byEnd(pem: string | undefined): readonly Validity[] {
  if (pem === undefined) return [];
  return certificatesIn(pem)
    .map(validityOf)
    .toSorted((a, b) => a.endMs - b.endMs);
}

/** Those that brokers have shown. */
export function brokerCertificates(
  channels: readonly Channel[],
  { certificateBeginMs, certificateEndMs }: Readonly<Record<'certificateBeginMs' | 'certificateEndMs', Float64Array>>,
): KnownCertificate[] {
  return channels.flatMap((channel, position) => {
    if (channel.driver !== 'mqtt' || !channel.url.startsWith('mqtts:')) return [];
    const [beginMs = Number.NaN, endMs = Number.NaN] = [certificateBeginMs[position], certificateEndMs[position]];
    const validity = Number.isNaN(endMs) ? null : { beginMs, endMs };
    return [{ what: `the certificate of the broker of channel ${channel.id}`, validity }];
  });
}

/** Certificates of a few days are renewed late in their life: a notice of more than this share of it would never end. */
const noticeShare = 1 / 3;

/** Those that end within `noticeMs`, or within the last third of a shorter life. */
export function endingSoon(
  certificates: readonly KnownCertificate[],
  noticeMs: number,
  nowMs: number,
): readonly { readonly what: string; readonly endMs: number }[] {
  return certificates.flatMap(({ what, validity }) => {
    if (validity === null) return [];
    const { beginMs, endMs } = validity;
    return endMs - nowMs <= Math.min(noticeMs, (endMs - beginMs) * noticeShare) ? [{ what, endMs }] : [];
  });
}

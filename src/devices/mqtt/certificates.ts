/** How long the certificates of MQTT channels [points §3.2] are valid, for the alarm about those that end soon [alarms §2.2]. */
import type { Channel } from '../../site/protocol/index.ts';
import type { MqttCredentials } from '../driver/mqtt.ts';
import { certificatesIn } from './tls-files.ts';

/** Wall milliseconds; null while it is not known, because the channel has not been connected. */
export interface KnownCertificate {
  readonly what: string;
  readonly endMs: number | null;
}

function endsOf(pem: string): number[] {
  return certificatesIn(pem).map(({ validToDate }) => validToDate.getTime());
}

/** The files of the channels, whose contents are in `credentials`. */
export function fileCertificates(
  channels: readonly Channel[],
  credentials: ReadonlyMap<string, MqttCredentials>,
): KnownCertificate[] {
  return channels.flatMap((channel) => {
    if (channel.driver !== 'mqtt') return [];
    const { ca, cert } = credentials.get(channel.id) ?? {};
    const named = (file: string | undefined, endMs: number) => ({ what: `${file} of channel ${channel.id}`, endMs });
    return [
      // A chain is valid while all of its certificates are; of several authorities, one is enough.
      ...(cert === undefined ? [] : [named(channel.cert_file, Math.min(...endsOf(cert)))]),
      ...(ca === undefined ? [] : [named(channel.ca_file, Math.max(...endsOf(ca)))]),
    ];
  });
}

/** Those that brokers have shown; `endMs` by position of the channel, NaN before its first connection. */
export function brokerCertificates(channels: readonly Channel[], endMs: Float64Array): KnownCertificate[] {
  return channels.flatMap((channel, position) => {
    if (channel.driver !== 'mqtt' || !channel.url.startsWith('mqtts:')) return [];
    const end = endMs[position] ?? Number.NaN;
    return [{ what: `the certificate of the broker of channel ${channel.id}`, endMs: Number.isNaN(end) ? null : end }];
  });
}

/** Those that end within `noticeMs`. */
export function endingSoon(
  certificates: readonly KnownCertificate[],
  noticeMs: number,
  nowMs: number,
): readonly { readonly what: string; readonly endMs: number }[] {
  return certificates.flatMap(({ what, endMs }) =>
    endMs !== null && endMs - nowMs <= noticeMs ? [{ what, endMs }] : [],
  );
}

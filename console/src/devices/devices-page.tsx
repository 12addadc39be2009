/** Channels to devices: state, last reading, last error, and traffic. */
import { Button, Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import { shownNumber } from '../parts/number.ts';
import page from '../parts/page.module.css';
import { PageHeading } from '../parts/page-heading.tsx';
import table from '../parts/table.module.css';
import { Tag } from '../parts/tag.tsx';
import { keyOf } from '../points/point-words.ts';
import points from '../points/points.module.css';
import { deviceWords } from '../strings/devices.ts';
import { t } from '../strings/index.ts';
import { DeviceDialog } from './device-dialog.tsx';
import { type ChannelView, channelTone, useChannels } from './device-queries.ts';
import classes from './devices.module.css';
import { SiteFileNotice } from './site-file-notice.tsx';

const words = deviceWords;

export function DevicesPage() {
  const channels = useChannels();
  const [looked, setLooked] = useState<ChannelView | null>(null);
  return (
    <div className={page['page']}>
      <PageHeading>{words.title}</PageHeading>
      <p className={page['lead']}>{words.lead}</p>
      <SiteFileNotice />
      {channels.isError && channels.data === undefined && (
        <Failure error={channels.error} onRetry={() => void channels.refetch()} />
      )}
      {channels.isPending && <Skeleton height={200} radius="md" aria-label={t.common.loading} />}
      {channels.data?.length === 0 && <p>{words.none}</p>}
      {channels.data !== undefined && channels.data.length > 0 && (
        <table className={table['table']} aria-label={words.title}>
          <thead>
            <tr>
              {Object.values(words.columns).map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {channels.data.map((channel) => (
              <ChannelRow key={channel.channel} channel={channel} onLook={() => setLooked(channel)} />
            ))}
          </tbody>
        </table>
      )}
      {looked !== null && <DeviceDialog channel={looked} onClose={() => setLooked(null)} />}
    </div>
  );
}

function ChannelRow({ channel, onLook }: { channel: ChannelView; onLook: () => void }) {
  const { last_error: error, last_reading_at: at, traffic } = channel;
  return (
    <tr data-channel={channel.channel}>
      <td>
        <Button
          variant="subtle"
          size="compact-sm"
          // Aligned with the text below, despite its padding.
          ml={-8}
          classNames={{ root: classes['channel'] ?? '', label: classes['channelName'] ?? '' }}
          aria-label={words.look(channel.channel)}
          onClick={onLook}
        >
          {channel.channel}
        </Button>
        <div className={points['soft']}>
          {channel.driver}, {words.points(channel.points)}
        </div>
      </td>
      <td>
        <Tag tone={channelTone(channel)}>{words.states[channel.state]}</Tag>
      </td>
      <td>{at === null ? words.never : <Moment at={at} />}</td>
      <td>
        {error !== null && (
          <>
            {error.message}
            <div className={points['soft']}>
              <Link to="/points/$pointKey" params={{ pointKey: keyOf(error) }} className={points['name'] ?? ''}>
                {keyOf(error)}
              </Link>{' '}
              <Moment at={error.at} />
            </div>
          </>
        )}
      </td>
      <td className={points['soft']}>
        {traffic === null ? words.standby : words.read(shownNumber(traffic.read), shownNumber(traffic.unread))}
        {traffic !== null && traffic.late > 0 && <div>{words.late(traffic.late, shownNumber(traffic.late))}</div>}
      </td>
      <td className={points['soft']}>
        {traffic !== null &&
          words.sent(shownNumber(traffic.sent), shownNumber(traffic.failed), shownNumber(traffic.dropped))}
      </td>
    </tr>
  );
}

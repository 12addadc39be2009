/** The frame of every page: navigation, connection state, the signed-in subject, and problems of the service. */
import {
  ActionIcon,
  Button,
  Menu,
  Text,
  Tooltip,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { mainPages } from '../addresses.ts';
import { useAlarms, usePushedAlarms } from '../alarms/alarm-list.ts';
import { isWaiting } from '../alarms/alarm-words.ts';
import { onServiceClock, serviceAheadMs } from '../clock.ts';
import { useMissed, useStreamState } from '../live/stream.ts';
import { Announcements } from '../parts/announce.tsx';
import { later } from '../parts/later.tsx';
import { fullTime, lengthInWords } from '../parts/moment.tsx';
import { Notice } from '../parts/tag.tsx';
import { RuleActions } from '../rules/rule-actions.tsx';
import { useSite } from '../server/queries.ts';
import { useSession } from '../session/session.ts';
import { signOut } from '../session/session-calls.ts';
import { mayOpen } from '../session/token.ts';
import { t } from '../strings/index.ts';
import { chooseLanguage, language, languageNames, languages } from '../strings/language.ts';
import { useIsOutdated } from './console-version.ts';
import { MoonIcon, SearchIcon, SunIcon, UserIcon } from './icons.tsx';
import { useServiceTrouble } from './service-trouble.ts';
import classes from './shell.module.css';
import { useTabTitle } from './tab-title.ts';
import { Palette, usePalette } from './use-palette.ts';

const words = t.common;
const PasswordDialog = later(async () => (await import('../session/password-dialog.tsx')).PasswordDialog, 0);

export function Shell() {
  usePushedAlarms();
  const waiting = useAlarms().data?.filter(isWaiting).length ?? 0;
  useTabTitle(waiting);
  const palette = usePalette();
  const main = useRef<HTMLElement>(null);
  // Of the page that is shown: the next one may still be on its way.
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const before = useRef(path);
  useEffect(() => {
    // In newer browsers it returns a promise, which is not a clean-up.
    window.scrollTo(0, 0);
    // The link that was followed is gone: without this, the next Tab would start at the top of the page.
    const isFirst = before.current === undefined || before.current === path;
    if (!isFirst && document.activeElement === document.body) main.current?.focus({ preventScroll: true });
    before.current = path;
  }, [path]);
  return (
    <RuleActions>
      <div className={classes['frame']}>
        <a
          className={classes['skip']}
          href="#content"
          onClick={(event) => {
            event.preventDefault();
            main.current?.focus();
          }}
        >
          {words.skip}
        </a>
        <header className={classes['header']}>
          <Link to="/" className={classes['brand'] ?? ''} aria-label={words.product}>
            <img src="/assets/icon.svg" alt="" width={24} height={24} />
            <span className={classes['product']}>{words.product}</span>
          </Link>
          <SiteName />
          <Pages waiting={waiting} />
          <div className={classes['tools']}>
            <Times />
            <ClockDifference />
            <StreamSign />
            <Tooltip label={words.commands}>
              <Button
                variant="default"
                size="compact-md"
                onClick={palette.open}
                onPointerEnter={() => void Palette.preload()}
                leftSection={<SearchIcon size={16} />}
                aria-label={`${words.commands}, ${words.commandsHint}`}
              >
                <span className={classes['key']} aria-hidden>
                  {words.commandsHint}
                </span>
              </Button>
            </Tooltip>
            <ThemeButton />
            <Account />
          </div>
        </header>
        <Trouble />
        <Outdated />
        <main id="content" ref={main} tabIndex={-1} className={classes['content']}>
          <Outlet />
        </main>
      </div>
      {palette.opened && <Palette onThere={palette.take} onClose={palette.close} />}
      <Announcements />
    </RuleActions>
  );
}

/** The consoles of two sites look alike. */
function SiteName() {
  const name = useSite().data?.site.name;
  return (
    <span className={classes['site']} title={name}>
      {name}
    </span>
  );
}

/** `waiting`: alarms that nobody acknowledged. */
function Pages({ waiting }: { waiting: number }) {
  const session = useSession();
  const role = session.status === 'out' ? null : session.facts.role;
  const path = useRouterState({ select: (state) => state.location.pathname });
  return (
    <nav className={classes['pages']} aria-label={words.mainNavigation}>
      {mainPages.map(
        ([name, to]) =>
          mayOpen(name, role) && (
            <Link
              key={name}
              to={to}
              className={classes['page'] ?? ''}
              activeOptions={{ exact: true }}
              // A page of one point belongs to the points.
              aria-current={path === to || (to !== '/' && path.startsWith(`${to}/`)) ? 'page' : undefined}
            >
              {words.pages[name]}
              {name === 'alarms' && waiting > 0 && <AlarmCount count={waiting} />}
            </Link>
          ),
      )}
    </nav>
  );
}

const countedMax = 99;

function AlarmCount({ count }: { count: number }) {
  return (
    <span className={classes['count']}>
      <span aria-hidden>{count > countedMax ? `${countedMax}+` : count}</span>
      <span className="sp-hidden">{words.alarmsWaiting(count)}</span>
    </span>
  );
}

function StreamSign() {
  const state = useStreamState();
  const missed = useMissed();
  if (state === 'off') return null;
  const label = missed > 0 ? `${words.stream[state]} ${words.stream.missed(missed)}` : words.stream[state];
  return (
    <Tooltip label={label}>
      <span className={classes['stream']} data-state={state} role="status" data-testid="stream">
        <span className={classes['streamDot']} aria-hidden />
        <span className={classes['streamWord']} aria-hidden>
          {words.stream.words[state]}
        </span>
        <span className="sp-hidden">{words.stream[state]}</span>
      </span>
    </Tooltip>
  );
}

const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A site far away has other hours than the browser: what the times mean is said on every page. */
function Times() {
  const zone = useSite().data?.timezone;
  if (zone === undefined) return null;
  return (
    <Tooltip label={words.times(here, zone)} multiline maw={280}>
      <span className={classes['zone']} role="note" aria-label={words.times(here, zone)}>
        {here === zone ? zone : `${here} ≠ ${zone}`}
      </span>
    </Tooltip>
  );
}

/** Smaller differences are not shown. */
const noticedMs = 5000;

/** Said because the device itself shows another time than these pages. */
function ClockDifference() {
  const aheadMs = useSyncExternalStore(onServiceClock, serviceAheadMs) ?? 0;
  if (Math.abs(aheadMs) < noticedMs) return null;
  const length = lengthInWords(aheadMs);
  const label = aheadMs > 0 ? words.clockBehind(length) : words.clockAhead(length);
  return (
    <Tooltip label={label} multiline maw={280}>
      <span className={`${classes['zone']} ${classes['clock']}`} role="note" aria-label={label}>
        {words.clockDiffers(length)}
      </span>
    </Tooltip>
  );
}

function ThemeButton() {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  const label = isDark ? words.theme.toLight : words.theme.toDark;
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        size="lg"
        aria-label={label}
        onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
      >
        {isDark ? <SunIcon /> : <MoonIcon />}
      </ActionIcon>
    </Tooltip>
  );
}

function Account() {
  const session = useSession();
  const [isChanging, setChanging] = useState(false);
  if (session.status === 'out') return null;
  const { subject, role, expiresAtMs, isAccount = false } = session.facts;
  const name = subject === '' ? words.account.unnamed : subject;
  const roleName = role ?? words.account.auditOnly;
  return (
    <>
      <Menu position="bottom-end" width={280}>
        <Menu.Target>
          <UnstyledButton aria-label={words.account.menu(name, roleName)} className={classes['stream'] ?? ''}>
            <UserIcon />
            <span className={classes['streamWord']}>{roleName}</span>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Text size="sm" px="sm" pt={6} fw={600}>
            {name}
          </Text>
          <Text size="sm" px="sm" c="dimmed">
            {roleName}
            {role !== null && `: ${words.account.roles[role]}`}
          </Text>
          <AccountTimes />
          {expiresAtMs !== null && (
            <Text size="xs" px="sm" pb={6} c="dimmed">
              {words.account.until(fullTime(expiresAtMs))}
            </Text>
          )}
          <Menu.Divider />
          <Menu.Label>{words.language}</Menu.Label>
          {languageNames.map((name) => (
            <Menu.Item key={name} lang={name} disabled={name === language} onClick={() => chooseLanguage(name)}>
              {languages[name]}
            </Menu.Item>
          ))}
          <Menu.Divider />
          {role === 'Admin' && (
            <Menu.Item component={Link} to="/users">
              {words.pages.users}
            </Menu.Item>
          )}
          {isAccount && <Menu.Item onClick={() => setChanging(true)}>{words.account.changePassword}</Menu.Item>}
          <Menu.Item onClick={() => void signOut()}>{words.account.signOut}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isChanging && <PasswordDialog name={subject} onClose={() => setChanging(false)} />}
    </>
  );
}

function AccountTimes() {
  const zone = useSite().data?.timezone;
  if (zone === undefined) return null;
  return (
    <Text size="xs" px="sm" c="dimmed">
      {words.times(here, zone)}
    </Text>
  );
}

function Trouble() {
  const trouble = useServiceTrouble();
  if (trouble === null) return null;
  return (
    <div className={classes['banner']}>
      <Notice tone="warn" role="alert">
        {words.offline[trouble]}
      </Notice>
    </div>
  );
}

function Outdated() {
  if (!useIsOutdated()) return null;
  return (
    <div className={classes['banner']}>
      <Notice
        tone="warn"
        role="status"
        action={
          <Button size="compact-sm" variant="default" onClick={() => location.reload()}>
            {words.failure.reload}
          </Button>
        }
      >
        {words.failure.outdated}
      </Notice>
    </div>
  );
}

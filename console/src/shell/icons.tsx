/** The few icons of the console, as line drawings of one weight. They never stand without words for a screen reader. */
import type { ReactNode } from 'react';

function icon(drawing: ReactNode) {
  return function Icon({ size = 18 }: { size?: number }) {
    return (
      <svg
        width={size}
        height={size}
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.9"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden
        focusable="false"
      >
        {drawing}
      </svg>
    );
  };
}

export const MoonIcon = icon(<path d="M20 14.5A8 8 0 1 1 9.5 4a6.5 6.5 0 0 0 10.5 10.5z" />);
export const SunIcon = icon(
  <>
    <circle cx="12" cy="12" r="4" />
    <path d="M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M5.6 18.4 7 17M17 7l1.4-1.4" />
  </>,
);
export const SearchIcon = icon(
  <>
    <circle cx="11" cy="11" r="6.5" />
    <path d="m16 16 4.5 4.5" />
  </>,
);
export const UserIcon = icon(
  <>
    <circle cx="12" cy="8.5" r="3.7" />
    <path d="M4.5 20a7.5 7.5 0 0 1 15 0" />
  </>,
);
export const PlayIcon = icon(<path d="M7 5.2v13.6l11-6.8z" />);
export const MoreIcon = icon(<path d="M5 12h.01M12 12h.01M19 12h.01" strokeWidth="3" />);
export const PlusIcon = icon(<path d="M12 5v14M5 12h14" />);
export const TrashIcon = icon(<path d="M4.5 7h15M10 7V4.5h4V7M6.5 7l.8 12.5h9.4L17.5 7" />);
export const UndoIcon = icon(<path d="M8 5 4 9l4 4M4.5 9H14a5.5 5.5 0 0 1 0 11h-3" />);
export const RedoIcon = icon(<path d="m16 5 4 4-4 4M19.5 9H10a5.5 5.5 0 0 0 0 11h3" />);
export const LayoutIcon = icon(
  <path d="M3.5 9.5h5v5h-5zM15.5 4h5v5h-5zM15.5 15h5v5h-5zM8.5 12H12M12 6.5v11M12 6.5h3.5M12 17.5h3.5" />,
);
export const FitIcon = icon(<path d="M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5" />);
export const CopyIcon = icon(<path d="M8.5 8.5h11v11h-11zM15.5 8.5v-4h-11v11h4" />);
export const DownIcon = icon(<path d="M12 4v11m-4.5-4.5L12 15l4.5-4.5M5 20h14" />);
export const UpIcon = icon(<path d="M12 15V4M7.5 8.5 12 4l4.5 4.5M5 20h14" />);
export const BackIcon = icon(<path d="m14.5 5-7 7 7 7" />);

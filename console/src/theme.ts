/** Colours and component defaults. Every pair of text and ground used here has a contrast of at least 4.5 to 1. */
import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

const petrol: MantineColorsTuple = [
  '#e6f6f8',
  '#d0ebef',
  '#a3d5dd',
  '#72bdc9',
  '#4ba9b8',
  '#2f99aa',
  '#13828f',
  '#0b6f7b',
  '#085c67',
  '#044a53',
];

/** Greys of the dark scheme, with the hue of its grounds. */
const dark: MantineColorsTuple = [
  '#dfe5ea',
  '#c3ccd3',
  '#a9b4bd',
  '#8593a0',
  '#46525c',
  '#313b43',
  '#1d242a',
  '#171d22',
  '#12171b',
  '#0d1114',
];

export const theme = createTheme({
  primaryColor: 'petrol',
  primaryShade: { light: 7, dark: 6 },
  colors: { petrol, dark },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  defaultRadius: 'md',
  cursorType: 'pointer',
  focusRing: 'auto',
  respectReducedMotion: true,
  components: {
    Modal: {
      defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.45 }, transitionProps: { duration: 0 } },
    },
    Drawer: { defaultProps: { transitionProps: { duration: 0 } } },
    // A loading part has a label, which only an element with a role may have.
    Skeleton: { defaultProps: { role: 'status' } },
    Menu: { defaultProps: { transitionProps: { duration: 0 }, shadow: 'md' } },
    Tooltip: { defaultProps: { openDelay: 350, withArrow: true, transitionProps: { duration: 0 } } },
    Select: { defaultProps: { comboboxProps: { transitionProps: { duration: 0 }, shadow: 'md' } } },
    MultiSelect: { defaultProps: { comboboxProps: { transitionProps: { duration: 0 }, shadow: 'md' } } },
  },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#4d5963',
    '--mantine-color-placeholder': '#66717b',
    '--mantine-color-body': '#ffffff',
    '--mantine-color-error': '#b3261e',
    '--mantine-color-anchor': '#0b6f7b',
  },
  dark: {
    '--mantine-color-dimmed': '#a9b4bd',
    '--mantine-color-placeholder': '#939ea8',
    '--mantine-color-body': '#14191d',
    '--mantine-color-text': '#dfe5ea',
    '--mantine-color-error': '#ff9b92',
    '--mantine-color-anchor': '#72bdc9',
    '--mantine-color-default': '#1d242a',
    '--mantine-color-default-border': '#3a454e',
  },
});

import { html } from 'lit-html'

/** Each is drawn in lines, in a square of 24. */
const PATHS = {
  add: 'M12 5v14M5 12h14',
  all: 'M3 12l4 4 8-9M11 15l1 1 9-9',
  api: 'M8 7l-5 5 5 5M16 7l5 5-5 5',
  close: 'M6 6l12 12M18 6L6 18',
  delete: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5',
  down: 'M6 9l6 6 6-6',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  export: 'M12 15V4M7 9l5-5 5 5M5 20h14',
  import: 'M12 4v11M7 10l5 5 5-5M5 20h14',
  logOut: 'M10 4H5v16h5M15 8l4 4-4 4M19 12H9',
  menu: 'M4 7h16M4 12h16M4 17h16',
  print: 'M7 8V4h10v4M7 17H4V9h16v8h-3M7 14h10v6H7z',
  rows: 'M4 5h16M4 10h16M4 15h16M4 20h16',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5',
  statistics: 'M5 20v-9M12 20V4M19 20v-6',
  up: 'M6 15l6-6 6 6',
  years: 'M5 6h14v14H5zM5 11h14M9 3v5M15 3v5',
}

/** A picture beside a text, which says the same. @param {keyof typeof PATHS} name */
export const icon = (name) =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`

/** The sign of the catalogue, as in icon.svg. */
export const logo = html`<svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
  <rect class="cover" x="4" y="2" width="24" height="28" rx="4" />
  <path class="spine" d="M10 2v28" />
  <path class="lines" d="M15 10h8M15 15.5h5" />
</svg>`

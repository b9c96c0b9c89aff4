import { hash } from 'node:crypto'
import type { Source } from './assets.ts'

export interface WebPage {
  readonly path: string
  /** The prefix of the paths of its other files. */
  readonly prefix: string
  readonly source: Source
}

/** A web page loads and calls only the service itself, and cannot be put into a frame. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]

/**
 * Adds a slash to the end of the address, because everything in the web page is relative to it. A proxy that serves the
 * service under a path may also pass on the path without the slash. If it strips the path, a redirect would never end,
 * because both addresses arrive as the same request.
 */
const ADD_SLASH =
  "if (!location.pathname.endsWith('/')) history.replaceState(history.state, '', location.pathname + '/' + location.search + location.hash)"

/** The source that allows an inline script in a Content-Security-Policy. */
const digest = (script: string) => `'sha256-${hash('sha256', script, 'base64')}'`

/** The module for search words, which the service and the web page share. */
const SEARCH_WORDS = 'catalogue/search-words.js'

const SIGNALS = '@preact/signals-core/dist/signals-core.module.js'

/** Modules that are not preloaded, because the web page loads them only when it needs them. */
const NOT_PRELOADED = new Set([
  'authors.js',
  'changes.js',
  'charts.js',
  'columns.js',
  'csv.js',
  'deletions.js',
  'duplicates.js',
  'edit.js',
  'editor.js',
  'export.js',
  'found.js',
  'imported.js',
  'many.js',
  'selecting.js',
  'transfer.js',
  'upload.js',
  SEARCH_WORDS,
])

const LIBRARIES = [
  'lit-html/lit-html.js',
  'lit-html/directive.js',
  'lit-html/directive-helpers.js',
  'lit-html/directives/live.js',
  'lit-html/directives/repeat.js',
  SIGNALS,
]

export const CATALOGUE: WebPage = {
  path: '/',
  prefix: '/web',
  source: {
    folder: '.',
    // The sample books.
    shared: ['../examples/books.csv'],
    modules: [SEARCH_WORDS],
    libraries: LIBRARIES,
  },
}

export const DOCS: WebPage = {
  path: '/docs',
  prefix: '/docs',
  source: {
    folder: 'docs',
    shared: ['colours.css', 'style.css', 'icon.svg', 'icons.js', 'service.js', 'session.js', 'words.js'],
    libraries: ['lit-html/lit-html.js', SIGNALS],
  },
}

/**
 * @param template in which `{{root}}` has been replaced.
 * @param root the prefix of the URLs of `files`, relative to the web page.
 * @returns the web page, and the directives of its Content-Security-Policy.
 */
export function completePage(template: string, root: string, files: readonly string[]) {
  const importMap = JSON.stringify({
    imports: {
      '#search-words': `${root}${SEARCH_WORDS}`,
      'lit-html': `${root}lit-html/lit-html.js`,
      'lit-html/': `${root}lit-html/`,
      '@preact/signals-core': `${root}${SIGNALS}`,
    },
  })
  const modules = files.filter((name) => name.endsWith('.js') && !NOT_PRELOADED.has(name))
  const head = [
    `<script type="importmap">${importMap}</script>`,
    ...modules.map((name) => `<link rel="modulepreload" href="${root}${name}">`),
  ]
  return {
    html: template
      .replace('<!-- address -->', `<script>${ADD_SLASH}</script>`)
      .replace('<!-- modules -->', head.join('\n    ')),
    policy: [
      ...POLICY,
      `script-src 'self' ${digest(ADD_SLASH)} ${digest(importMap)}`,
      "img-src 'self'",
      "require-trusted-types-for 'script'",
      // lit-html makes HTML only from templates, which are constants in the code, never from the texts of books.
      'trusted-types lit-html',
    ],
  }
}

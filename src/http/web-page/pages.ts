import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { servePage, type WebPage } from './routes.ts'

/** A page loads and calls only the service itself, and cannot be put into a frame. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]

/**
 * A proxy that has the service under a path may also pass on that path without the slash at its end. Everything in the
 * page is relative to its address, so that gets one.
 */
const ADD_SLASH =
  "if (!location.pathname.endsWith('/')) history.replaceState(history.state, '', location.pathname + '/' + location.search + location.hash)"

/** Allows an inline script. */
const digest = (script: string) => `'sha256-${hash('sha256', script, 'base64')}'`

/** The words of a search, which the service and the catalogue share. */
const SEARCH_WORDS = 'catalogue/search-words.js'

/** Modules that the catalogue loads only when it needs them. */
const LATER = new Set([
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
  'plot.js',
  'save-file.js',
  'selected.js',
  'selecting.js',
  'transfer.js',
  'upload.js',
  'uplot/dist/uPlot.esm.js',
  SEARCH_WORDS,
])

export const CATALOGUE: WebPage = {
  path: '/',
  prefix: '/web',
  source: {
    folder: '.',
    modules: [SEARCH_WORDS],
    libraries: [
      'lit-html/lit-html.js',
      'lit-html/directive.js',
      'lit-html/directive-helpers.js',
      'lit-html/directives/live.js',
      'lit-html/directives/repeat.js',
      'uplot/dist/uPlot.esm.js',
      'uplot/dist/uPlot.min.css',
    ],
  },
  complete(template, root, files) {
    const importMap = JSON.stringify({
      imports: {
        '#search-words': `${root}${SEARCH_WORDS}`,
        'lit-html': `${root}lit-html/lit-html.js`,
        'lit-html/': `${root}lit-html/`,
        uplot: `${root}uplot/dist/uPlot.esm.js`,
      },
    })
    const modules = files.filter((name) => name.endsWith('.js') && !LATER.has(name))
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
        // The library makes HTML only from templates, which are constants in the code, never from the texts of books.
        'trusted-types lit-html',
      ],
    }
  },
}

export const DOCS: WebPage = {
  path: '/docs',
  prefix: '/docs',
  source: {
    folder: 'docs',
    shared: ['colours.css', 'icon.svg'],
    // Swagger UI's own package reports each installation to its maker. This one has the same files; nothing else of it
    // is used.
    libraries: [
      '@fastify/swagger-ui/static/swagger-ui.css',
      '@fastify/swagger-ui/static/swagger-ui-bundle.js',
    ],
  },
  complete: (html) => ({ html, policy: [...POLICY, "script-src 'self'", "img-src 'self' data:"] }),
}

/** Serves the catalogue, and a page to try the endpoints of the OpenAPI document. */
export function registerWebPages(app: FastifyInstance): void {
  servePage(app, CATALOGUE)
  servePage(app, DOCS)
  app.get('/docs/', (_request, reply) => reply.redirect('../docs', 308))
}

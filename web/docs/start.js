import { effect, signal } from '@preact/signals-core'
import { html, nothing, render } from 'lit-html'
import { logo } from './icons.js'
import { exampleOf, readDocument, typeOf } from './openapi.js'
import { send } from './request.js'
import { awayText, logIn, Refused } from './service.js'
import { askOtherTabs, currentToken, endSession, forgetSession, startSession } from './session.js'
import { words } from './words.js'

/** @import { MediaType, Operation, Parameter, Schema } from './openapi.js' */
/** @import { Exchange } from './request.js' */

const api = signal(/** @type {ReturnType<typeof readDocument> | undefined} */ (undefined))
/** Undefined while nobody is logged in. */
const username = signal(/** @type {string | undefined} */ (undefined))
/** Why something has failed: the log-in, or the loading of the document. */
const failure = signal('')
/** What came of the last call of each operation, by its id; a text says why there was no response. */
const results = signal(/** @type {Readonly<Record<string, Exchange | string>>} */ ({}))
/** The ids of the operations whose response is awaited. */
const pending = signal(/** @type {readonly string[]} */ ([]))

const page = () => html`
  <header>
    <h1>${logo}<span>Book Catalogue API</span></h1>
    <nav aria-label="Pages">
      <a href="./">Catalogue</a>
      <a href="openapi.json">OpenAPI document</a>
    </nav>
  </header>
  <main>
    <p>${marked(api.value?.info.description ?? '')}</p>
    ${username.value === undefined ? loggedOut() : loggedIn(username.value)}
    <p class="error" role="alert">${failure.value}</p>
    ${api.value?.tags.map(
      ({ name, description }) => html`<section aria-labelledby=${name}>
        <h2 id=${name}>${name}</h2>
        <p>${marked(description)}</p>
        ${api.value?.operations.filter(({ tags }) => tags[0] === name).map(operationPart)}
      </section>`,
    )}
    <p>Version ${api.value?.info.version}</p>
  </main>
`

const loggedOut = () => html`<form class="login" @submit=${submitLogin}>
  <label>${words.login.username} <input name="username" autocomplete="username" required /></label>
  <label>${words.login.password} <input name="password" type="password" autocomplete="current-password" required /></label>
  <button class="main">${words.login.logIn}</button>
</form>`

/** @param {string} name */
const loggedIn = (name) => html`<p class="login" role="status">
  <span>Logged in as <b>${name}</b>. Every call sends the token.</span>
  <button type="button" @click=${logOut}>${words.menu.logOut}</button>
</p>`

/** @param {SubmitEvent} event */
async function submitLogin(event) {
  event.preventDefault()
  const typed = new FormData(/** @type {HTMLFormElement} */ (event.target))
  try {
    await logIn(String(typed.get('username')), String(typed.get('password')))
    failure.value = ''
  } catch (error) {
    failure.value = error instanceof Refused ? error.message : words.moment(awayText(error))
  }
}

function logOut() {
  endSession()
  forgetSession()
  username.value = undefined
}

/** @param {Operation} operation */
function operationPart(operation) {
  const { operationId: id, method, path, summary, description } = operation
  const { parameters, requestBody, responses } = operation
  const all = Object.values(responses).map(({ headers }) => headers)
  const isCommon = (/** @type {string} */ name) => all.every((headers) => name in headers)
  const isPending = pending.value.includes(id)
  return html`<details id=${id} @toggle=${nameInAddress}>
    <summary><b class=${method}>${method}</b> <code>${path}</code> <span>${summary}</span></summary>
    <p>${marked(description)}</p>
    <form @submit=${(/** @type {SubmitEvent} */ event) => submit(event, operation)}>
      ${parameters.map((parameter) => input(parameter, operation))}
      ${requestBody ? bodyPart(requestBody.content) : nothing}
      <button class="main" aria-disabled=${isPending}>Send</button>
    </form>
    <div role="status">${resultPart(results.value[id])}</div>
    <details>
      <summary>Responses</summary>
      <dl>
        <dt>Every response</dt>
        <dd>${headerList(all[0] ?? {}, isCommon)}</dd>
        ${Object.entries(responses).map(
          ([status, { description, headers, content = {} }]) => html`<dt><b>${status}</b> ${description}</dt>
            <dd>
              ${Object.values(content).map(({ schema }) => table('data', schema.properties?.data ?? {}))}
              ${headerList(headers, (name) => !isCommon(name))}
            </dd>`,
        )}
      </dl>
    </details>
  </details>`
}

/** @param {import('./openapi.js').Headers} headers @param {(name: string) => boolean} isListed */
const headerList = (headers, isListed) => html`<dl>
  ${Object.entries(headers)
    .filter(([name]) => isListed(name))
    .map(([name, { description }]) => html`<dt><code>${name}</code></dt><dd>${marked(description)}</dd>`)}
</dl>`

/** @param {Parameter} parameter @param {Operation} operation */
function input({ name, in: location, required = false, schema, description }, { operationId: id, method }) {
  const [example = ''] = schema.examples ?? []
  // Only where it changes nothing: a call that is sent as it stands must not delete the first book.
  const value = required && method === 'GET' ? example : ''
  const [field, hint] = [`${id}-${name}`, `${id}-${name}-hint`]
  // Browsers send no other characters in a header.
  const [pattern, title] =
    location === 'header' ? ['[\\x00-\\xff]*', 'Latin-1 characters only'] : [nothing, nothing]
  return html`<div class="field">
    <label for=${field}><span><code>${name}</code> ${location}${required ? ', required' : ''}</span></label>
    ${
      schema.type === 'boolean'
        ? html`<select id=${field} name=${name} aria-describedby=${hint}>
            ${['', 'true', 'false'].map((option) => html`<option>${option}</option>`)}
          </select>`
        : html`<input id=${field} name=${name} aria-describedby=${hint} ?required=${required} value=${value}
            pattern=${pattern} title=${title} autocomplete="off" placeholder=${example === '' ? '' : `such as ${example}`} />`
    }
    <p id=${hint}>${marked(description)}</p>
  </div>`
}

/** @param {Record<string, MediaType>} content */
function bodyPart(content) {
  const [first] = Object.values(content)
  const { schema = {} } = first ?? {}
  const chosen = (/** @type {Event} */ { target }) => {
    const { value, form } = /** @type {HTMLSelectElement} */ (target)
    const area = form?.querySelector('textarea')
    if (area) area.value = exampleOf(content[value])
  }
  return html`<label class="field">
      <span><code>Content-Type</code> header</span>
      <select name="media type" @change=${chosen}>${Object.keys(content).map((type) => html`<option>${type}</option>`)}</select>
    </label>
    <label class="field"><span>Body</span> <textarea name="body" spellcheck="false" .value=${exampleOf(first)}></textarea></label>
    ${schema.format === 'binary' ? html`<label class="field"><span>or a file</span> <input name="file" type="file" /></label>` : nothing}
    <p>${marked(schema.description ?? '')}</p>
    ${table('Body', schema)}`
}

/**
 * The fields of an object, or of the objects in an array.
 * @param {string} caption @param {Schema} schema @returns {unknown}
 */
function table(caption, { items, properties, required = [] }) {
  if (items !== undefined) return table(caption, items)
  if (properties === undefined) return nothing
  return html`<table>
    <caption>${caption}</caption>
    ${Object.entries(properties).map(
      ([name, field]) => html`<tr>
        <th scope="row"><code>${name}</code></th>
        <td>${typeOf(field)}${required.includes(name) ? '' : ', optional'}</td>
        <td>${marked(field.description ?? '')}</td>
      </tr>`,
    )}
  </table>`
}

/** @param {Exchange | string | undefined} exchange */
function resultPart(exchange) {
  if (exchange === undefined) return nothing
  if (typeof exchange === 'string') return html`<p class="error">${exchange}</p>`
  const { status, headers, body, isCut, curl } = exchange
  return html`<h3>${status}</h3>
    <pre tabindex="0" role="group" aria-label="Body">${body}</pre>
    ${isCut ? html`<p>The rest is not shown.</p>` : nothing}
    <pre tabindex="0" role="group" aria-label="Header fields">${headers}</pre>
    <pre tabindex="0" role="group" aria-label="Command">${curl}</pre>`
}

/** @param {SubmitEvent} event @param {Operation} operation */
async function submit(event, operation) {
  event.preventDefault()
  const { operationId: id } = operation
  if (pending.value.includes(id)) return
  pending.value = [...pending.value, id]
  const form = /** @type {HTMLFormElement} */ (event.target)
  const result = await send(operation, form).catch((error) => words.moment(awayText(error)))
  // Other calls may have been answered meanwhile.
  results.value = { ...results.value, [id]: result }
  pending.value = pending.value.filter((other) => other !== id)
  if (currentToken() === '') username.value = undefined
}

/** A text in which backticks mark code. @param {string} text */
const marked = (text) =>
  text.split('`').map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))

/** @param {ToggleEvent} event */
function nameInAddress({ target, newState }) {
  if (newState === 'open' && target instanceof Element) history.replaceState(null, '', `#${target.id}`)
}

/** Opens the operation that the address names. */
function openNamed() {
  const named = document.getElementById(location.hash.slice(1))
  if (!(named instanceof HTMLDetailsElement)) return
  named.open = true
  named.scrollIntoView()
}

async function load() {
  try {
    const response = await fetch('openapi.json')
    api.value = readDocument(await response.json())
    openNamed()
  } catch {
    failure.value = words.moment(words.away)
  }
}

startSession({
  began: (session) => {
    username.value = session.username
  },
  endedElsewhere: () => {
    forgetSession()
    username.value = undefined
  },
})
askOtherTabs()
const app = document.getElementById('app')
effect(() => {
  if (app) render(page(), app)
})
addEventListener('hashchange', openNamed)
void load()

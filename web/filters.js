import { html, nothing } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { icon } from './icons.js'
import { find } from './list.js'
import { change, EVERYTHING, isCounting, isSlow, pages, view } from './listing.js'
import { noYear, oneLine, readYear } from './text.js'
import { books, words } from './words.js'

export const searchField = () => html`<search>${icon('search')}${input('q', 'search')}</search>`

/** The row with the filters, the order and the number of books. @param {unknown} toggle shows the charts. */
export const filters = (toggle) => html`<section class="filters" aria-label=${words.filters.label}>
  <button type="button" class="narrow" popovertarget="years">${icon('years')}<span>${words.filters.years}</span></button>
  <div id="years" popover>${input('yearMin', 'text')} ${input('yearMax', 'text')}</div>
  <label class="sort"><span>${words.filters.sort}</span>
    <select @change=${(/** @type {Event} */ event) => change({ sort: typedIn(event) }, 'chosen')}>
      ${Object.entries(words.filters.orders).map(
        ([sort, label]) => html`<option value=${sort} .selected=${live(view.sort === sort)}>
          ${sort === '' && view.q.trim() !== '' ? words.filters.bestMatch : label}
        </option>`,
      )}
    </select>
  </label>
  ${toggle}
  ${chips()}
  <p class="count" role="status">${countText()}</p>
  <p class="error" aria-live="polite">${[view.yearMin, view.yearMax].filter(isNoYear).map(noYear).join(' ')}</p>
</section>`

function chips() {
  const { q, author, yearMin, yearMax } = view
  const isOfYears = readYear(yearMin) !== undefined || readYear(yearMax) !== undefined
  const filtered = [q !== '', author !== '', isOfYears].filter(Boolean).length
  return html`
    ${
      author === ''
        ? nothing
        : html`<button type="button" class="chip" aria-label=${words.filters.clearAuthor(oneLine(author))} @click=${() => clear({ author: '' })}>
            <bdi>${oneLine(author)}</bdi>${icon('close')}
          </button>`
    }
    ${
      isOfYears
        ? html`<button type="button" class=${yearMin === yearMax && yearMin === '0' ? 'chip' : 'chip years'} aria-label=${words.filters.clearYears(yearMin, yearMax)} @click=${() => clear({ yearMin: '', yearMax: '' })}>
            ${words.filters.span(yearMin, yearMax)}${icon('close')}
          </button>`
        : nothing
    }
    ${filtered > 1 ? html`<button type="button" class="quiet clear" @click=${() => clear(EVERYTHING)}>${words.filters.clearAll}</button>` : nothing}`
}

/** @param {Event} event */
const typedIn = ({ target }) => /** @type {HTMLInputElement | HTMLSelectElement} */ (target).value

/** @param {'q' | 'yearMin' | 'yearMax'} name @param {string} type */
const input = (
  name,
  type,
) => html`<label class=${name}><span>${words.filters[name === 'q' ? 'search' : name]}</span>
  <input
    type=${type}
    inputmode=${name === 'q' ? 'search' : nothing}
    aria-keyshortcuts=${name === 'q' ? '/' : nothing}
    autocomplete="off"
    placeholder=${name === 'q' ? words.filters.searchHint : words.filters[name]}
    aria-invalid=${name !== 'q' && isNoYear(view[name])}
    .value=${live(view[name])}
    @input=${(/** @type {Event} */ event) => change({ [name]: typedIn(event) }, 'typed')}
  />
</label>`

/** Whether a text is not a year. Nothing, or a sign alone, may still become one. @param {string} text */
const isNoYear = (text) => !/^\s*[\p{Dash}+]?\s*$/u.test(text) && readYear(text) === undefined

/** @param {string} author */
export const chooseAuthor = (author) => change({ author }, 'chosen')

/** Moves the focus, because the button that was pressed disappears. @param {Partial<typeof view>} changes */
function clear(changes) {
  change(changes, 'chosen')
  find('search input')?.focus()
}

function countText() {
  if (pages === undefined) return ''
  if (isSlow) return words.list.loading
  if (pages.count === undefined) return isCounting ? words.list.counting : ''
  return books(pages.count)
}

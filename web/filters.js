import { html, nothing } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { find } from './list.js'
import { change, isCounting, isSlow, pages, view } from './listing.js'
import { noYear, oneLine, readYear } from './text.js'
import { books, words } from './words.js'

/** The row with the search, the filters, the order and the number of books. */
export const filters = () => html`<search>
  ${input('q', 'search')}
  <button type="button" class="narrow" popovertarget="years">${words.filters.years}${view.yearMin + view.yearMax === '' ? '' : ' ✓'}</button>
  <div id="years" popover>${input('yearMin', 'text')} ${input('yearMax', 'text')}</div>
  ${
    view.author === ''
      ? nothing
      : html`<button type="button" aria-label=${words.filters.clearAuthor(oneLine(view.author))} @click=${clearAuthor}>${words.filters.author} <bdi>${oneLine(view.author)}</bdi> ✕</button>`
  }
  <label class="sort"><span>${words.filters.sort}</span>
    <select @change=${(/** @type {Event} */ event) => change({ sort: typedIn(event) }, 'chosen')}>
      ${Object.entries(words.filters.orders).map(
        ([sort, label]) => html`<option value=${sort} .selected=${live(view.sort === sort)}>
          ${sort === '' && view.q.trim() !== '' ? words.filters.bestMatch : label}
        </option>`,
      )}
    </select>
  </label>
  <p class="count" role="status">${countText()}</p>
  <p class="error" aria-live="polite">${[view.yearMin, view.yearMax].filter(isNoYear).map(noYear).join(' ')}</p>
</search>`

/** @param {Event} event */
const typedIn = ({ target }) => /** @type {HTMLInputElement | HTMLSelectElement} */ (target).value

/** @param {'q' | 'yearMin' | 'yearMax'} name @param {string} type */
const input = (
  name,
  type,
) => html`<label class=${name}><span>${words.filters[name === 'q' ? 'search' : name]}</span>
  <input
    type=${type}
    inputmode=${name === 'q' ? 'search' : 'numeric'}
    aria-keyshortcuts=${name === 'q' ? '/' : nothing}
    autocomplete="off"
    placeholder=${name === 'q' ? words.filters.searchHint : nothing}
    aria-invalid=${name !== 'q' && isNoYear(view[name])}
    .value=${live(view[name])}
    @input=${(/** @type {Event} */ event) => change({ [name]: typedIn(event) }, 'typed')}
  />
</label>`

/** Whether a text is not a year. Nothing, or a sign alone, may still become one. @param {string} text */
const isNoYear = (text) => !/^\s*[\p{Dash}+]?\s*$/u.test(text) && readYear(text) === undefined

/** @param {string} author */
export const chooseAuthor = (author) => change({ author }, 'chosen')

/** Moves the focus, because the button that was pressed disappears. */
function clearAuthor() {
  chooseAuthor('')
  find('.q input')?.focus()
}

function countText() {
  if (pages === undefined) return ''
  if (isSlow) return words.list.loading
  if (pages.count === undefined) return isCounting ? words.list.counting : ''
  return books(pages.count)
}

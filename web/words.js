/** All texts of the web page, so that they can be read and changed together. */

/** @param {number} number */
export const books = (number) => `${number.toLocaleString('en')} ${number === 1 ? 'book' : 'books'}`

/** A hint for actions that take one or two requests for each book. @param {number} count */
const slow = (count) => (count > 1000 ? ' This can take a minute or more. You can stop it at any time.' : '')

/** @param {string} min @param {string} max */
const span = (min, max) =>
  max === ''
    ? `from ${min}`
    : min === ''
      ? `until ${max}`
      : min === '0' && max === '0'
        ? 'unknown year'
        : `${min}–${max}`

/** A year as people type it. @param {number} year */
export const yearText = (year) => (year < 0 ? `${-year} BC` : String(year))

const away = 'The service is not responding'

export const words = {
  catalogue: 'Book Catalogue',
  searchTitle: (/** @type {string} */ q) => `${q} – Book Catalogue`,
  addBook: 'Add book',
  showAll: 'Show all books',
  cancel: 'Cancel',
  close: 'Close',
  discard: 'Discard',
  dismiss: 'Dismiss',
  open: 'Open',
  undo: 'Undo',
  progress: 'Progress',
  away,
  moment: (/** @type {string} */ reason) => `${reason}. Try again in a moment.`,
  busy: 'The service is busy',
  reload: 'Reload',
  proxy: {
    short: 'Something else has answered instead of the service',
    answers: (/** @type {string} */ what) =>
      `A proxy between this page and the service has answered instead of it: ${what}. If you have to log in to the proxy, reload the page to do so. What you have typed is kept.`,
    redirect: 'it redirects to another page, such as a log-in page',
    basic:
      'it asks for a password of its own (401, HTTP Basic). The page cannot be used like this, because the password and the token need the same header. Tell the operator',
    page: (/** @type {number} */ status, /** @type {string | null} */ type) =>
      `${status} with ${type?.startsWith('text/html') ? 'a web page' : (type ?? 'no content')}, not a response of the service`,
  },
  notLoaded: 'Part of this page could not be loaded. Reload the page and try again.',

  noTitle: '(no title)',
  blankTitle: '(blank title)',
  noAuthor: '(no author)',
  noYear: '—',
  unknownYear: 'Unknown year',
  notAYear: (/** @type {string} */ text) => `${text} is not a year. Enter a year such as 1979 or 500 BC.`,

  menu: {
    label: 'Catalogue',
    more: 'Menu',
    import: 'Import…',
    export: 'Export…',
    api: 'API',
    print: 'Print…',
    roomy: 'Comfortable rows',
    logOut: 'Log out',
  },

  filters: {
    label: 'Filters',
    search: 'Search',
    searchHint: 'Search titles and authors',
    yearMin: 'From year',
    yearMax: 'To year',
    clearAuthor: (/** @type {string} */ author) => `Author: ${author}, clear this filter`,
    clearYears: (/** @type {string} */ min, /** @type {string} */ max) =>
      `Years: ${span(min, max)}, clear this filter`,
    span,
    clearAll: 'Clear all',
    sort: 'Sort by',
    years: 'Years',
    /** @type {Record<string, string>} */
    orders: {
      '-id': 'Newest added',
      id: 'Oldest added',
      title: 'Title A–Z',
      '-title': 'Title Z–A',
      author: 'Author A–Z',
      '-author': 'Author Z–A',
      year: 'Earliest year',
      '-year': 'Latest year',
      duplicates: 'Duplicates',
    },
    bestMatch: 'Best match',
  },

  list: {
    label: 'Books',
    title: 'Title',
    author: 'Author',
    year: 'Year',
    edit: 'Edit',
    byAuthor: 'Show books by this author',
    loading: 'Loading…',
    counting: 'Counting…',
    first: 'Loading books…',
    empty: 'No books yet',
    emptyHint:
      'Add the first one, import a file, or drop one here. To try the catalogue, load a hundred well-known books.',
    samples: 'Load sample books',
    none: 'No books found',
    noneHint: 'Check the spelling or clear a filter.',
    noneYet: 'No books found yet',
    duplicates: 'Same title and author, apart from case and accents.',
    noDuplicates: 'No duplicates found',
    noDuplicatesHint: 'No two books here have the same title and author.',
    firstDuplicates: (/** @type {number} */ count) =>
      `These are the first ${count.toLocaleString('en')} likely duplicates. There are more.`,
    tooLong: 'Too many words to search for',
    tooLongHint: 'Enter up to 32 words.',
    failed: 'Could not load the books',
    tryAgain: 'Try again',
    retrying: 'Retrying every few seconds.',
    retryNow: 'Retry now',
    partial: 'New books are still being indexed. Some may be missing or out of place.',
    searchAgain: 'Search again',
    newElsewhere: (/** @type {string} */ title) =>
      `Added ${title}. It does not match your search or filters.`,
    movedElsewhere: (/** @type {string} */ title) =>
      `Saved ${title}. It no longer matches your search or filters.`,
    tooFar: (/** @type {string} */ title) => `Added ${title}. It is far down in this list.`,
    newestFirst: 'Show newest first',
    sight: (
      /** @type {number} */ first,
      /** @type {number} */ last,
      /** @type {number | undefined} */ count,
    ) =>
      `${first.toLocaleString('en')}–${last.toLocaleString('en')}${count === undefined ? '' : ` of ${count.toLocaleString('en')}`}`,
    printedAll: (/** @type {number} */ end) => `All ${books(end)}.`,
    printed: (
      /** @type {number} */ first,
      /** @type {number} */ end,
      /** @type {number | undefined} */ count,
    ) =>
      `Books ${first} to ${end}${count === undefined ? '' : ` of ${count}`}. To get all of them, use Export.`,
  },

  selection: {
    label: 'Selected books',
    select: (/** @type {string} */ title) => `Select ${title}`,
    selectAll: 'Select all',
    selectAllOf: (/** @type {number} */ count) => `Select all ${count.toLocaleString('en')}`,
    selectCopies: 'Select all but the first of each',
    count: (/** @type {number} */ count) => `${count.toLocaleString('en')} selected`,
    tooMany: (/** @type {number} */ most) =>
      `You can select up to ${books(most)}. Search or filter to list fewer.`,
    edit: 'Edit…',
    export: 'Export CSV',
    delete: 'Delete',
    clear: 'Clear',
  },

  statistics: {
    label: 'Statistics',
    none: 'No books to show statistics for.',
    decades: 'Books by decade',
    authors: 'Top authors',
    unknown: (/** @type {number} */ count) => `Unknown year: ${books(count)}`,
    span: (/** @type {number} */ first, /** @type {number} */ last) =>
      first === -Infinity
        ? `Until ${yearText(last)}`
        : last === Infinity
          ? `From ${yearText(first)}`
          : last - first > 9
            ? `${yearText(first)}–${yearText(last)}`
            : yearText(first),
    /** Stands for the years before and after those that have a bar of their own. */
    far: '…',
    notCounted: 'Statistics are not available right now.',
  },

  editor: {
    edit: 'Edit book',
    link: 'Link to this book',
    save: 'Save',
    saveAndAdd: 'Save and add another',
    twin: 'Already in the catalogue:',
    duplicates: (/** @type {number} */ count) => `Possible ${count === 1 ? 'duplicate' : 'duplicates'}:`,
    twinOf: (/** @type {string} */ title, /** @type {string} */ author, /** @type {string} */ year) =>
      [title, author, year].filter((text) => text !== '').join(', '),
    delete: 'Delete',
    discard: 'Discard your changes?',
    keepEditing: 'Keep editing',
    opening: 'Opening book…',
    suggestions: 'Suggestions',
    noTitle: 'Enter a title.',
    unknown: 'unknown',
    previous: 'Previous book (Alt+↑)',
    next: 'Next book (Alt+↓)',
    notNear: 'This book is not in the list, or too far down in it.',
    addedSoFar: (/** @type {number} */ count, /** @type {string} */ title) =>
      `${count} added · last: ${title}`,
    away: (/** @type {string} */ reason) => `${reason}. Your changes are still here. Try again in a moment.`,
    invalid: 'Could not save. The text has an invalid character, or the year is too large.',
    tooLong: 'Title and author are too long. Together they can have up to 1 MB.',
    notFound: 'Book not found. It may have been deleted.',
    adding: (/** @type {string} */ title) => `${title} was added`,
    saving: (/** @type {string} */ title) => `${title} was saved`,
    added: (/** @type {string} */ title) => `Added ${title}.`,
    saved: (/** @type {string} */ title) => `Saved ${title}.`,
    notAdded: (/** @type {string} */ title) => `${title} was not added.`,
    notSaved: (/** @type {string} */ title) => `${title} was not saved.`,
  },

  conflict: {
    deleted: 'This book was deleted',
    changed: 'Someone else has changed this book',
    deletedHint: 'Your changes are still here. You can add them as a new book.',
    changedHint: 'Nothing has been overwritten. You can keep editing above, then choose a version.',
    mine: 'Your version',
    theirs: 'Saved version',
    differs: 'differs',
    useTheirs: 'Use saved version',
    overwrite: 'Overwrite with mine',
    addAgain: 'Add as new book',
  },

  deletion: {
    deleting: (/** @type {string} */ title) => `${title} was deleted`,
    deleted: (/** @type {string} */ title) => `Deleted ${title}.`,
    failed: (/** @type {string} */ title, /** @type {string} */ reason) =>
      `${title} was not deleted: ${reason}.`,
    changed: 'someone else has changed it',
    loggedOut: 'your session has expired',
  },

  login: {
    welcome: 'Log in to search, add and edit books.',
    username: 'Username',
    password: 'Password',
    logIn: 'Log in',
    ending: 'Your session ends in a minute.',
    renew: 'Stay logged in',
    expiring: 'Session expiring',
    expired: 'Session expired',
    hint: 'Sessions last 15 minutes. Enter your password to continue. Your changes are kept.',
    leftElsewhere: 'You logged out in another tab. Enter your password to continue. Your changes are kept.',
    wrong: 'Wrong username or password.',
    tooMany: 'Too many attempts. Try again in a few minutes.',
    crossOrigin:
      'The service takes this page for one of another site, probably because a proxy replaces the Host header. Tell the operator: the log says what to set.',
    needed: 'You are not logged in.',
    leaving: 'Logging out…',
    left: 'You are logged out',
    again: 'Log in again',
    unknown: (/** @type {string} */ what) => `Could not confirm that ${what}: the service has not responded.`,
  },

  export: {
    heading: 'Export books',
    hint: 'Saves the books in the current list, in the order you chose, or else as they were added.',
    spreadsheet: 'CSV for spreadsheets',
    csv: 'CSV for programs',
    ndjson: 'NDJSON for programs',
    running: 'Exporting…',
    failed: 'The connection was lost. Nothing was exported.',
    none: (/** @type {string} */ reason) => `${reason}. Nothing was exported.`,
  },

  import: {
    heading: 'Import books',
    choose: 'Choose a file or drop it here',
    chooseAnother: 'Choose another file',
    hint: 'CSV, NDJSON or JSON with titles, authors and years, such as an export from Goodreads, LibraryThing or Calibre. It is checked first.',
    skip: 'Skip books already in the catalogue',
    phases: { sending: 'Sending…', checking: 'Checking…', storing: 'Storing…', cancelling: 'Cancelling…' },
    cancel: { checking: 'Cancel check', storing: 'Cancel import' },
    checkCancelled: 'Check cancelled.',
    cancelled: 'Import cancelled. Nothing was imported.',
    wasCancelled: 'The import was cancelled late',
    tooLate: (/** @type {number} */ added) => `It was too late to cancel. Imported ${books(added)}.`,
    import: (/** @type {number} */ added) => (added === 0 ? 'Import' : `Import ${books(added)}`),
    checkAgain: 'Check again',
    columns: 'Columns and encoding',
    columnsMissing: (
      /** @type {string[]} */ fields,
      /** @type {boolean} */ hasHeader,
      /** @type {boolean} */ isGarbled,
    ) =>
      [
        ...(isGarbled ? ['Some letters of the column names cannot be read: choose another encoding.'] : []),
        `Choose the column for ${new Intl.ListFormat('en').format(fields)}.`,
        ...(fields.includes('year') ? ['If the file has no years, choose “No years”.'] : []),
        ...(hasHeader && fields.length > 2
          ? [
              'If its first row is a book, clear “First row is a header”.',
              'If there are lines above the column names, remove them from the file and choose it again.',
            ]
          : []),
      ].join(' '),
    header: 'First row is a header',
    column: (/** @type {string} */ number) => `Column ${number}`,
    chooseColumn: 'Choose…',
    noYears: 'No years',
    noName: '(no name)',
    encoding: 'Encoding',
    preview: 'First rows',
    csv: 'plain CSV',
    ndjson: 'NDJSON',
    json: 'JSON',
    exportOf: (/** @type {string} */ program) => `${program} export`,
    ready: (/** @type {number} */ count) => `${count.toLocaleString('en')} ready`,
    faulty: (/** @type {number} */ count) => `${count.toLocaleString('en')} with errors`,
    skipped: (/** @type {number} */ count) => `${count.toLocaleString('en')} already in the catalogue`,
    empty: (/** @type {number} */ count) => `${count.toLocaleString('en')} empty`,
    about: (/** @type {number} */ rows, /** @type {string} */ format) =>
      `${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'}, ${format}.`,
    withoutYear: (/** @type {number} */ count) =>
      `${books(count)} ${count === 1 ? 'has' : 'have'} no year that can be read.`,
    faults: 'Rows with errors are left out',
    line: 'Line',
    field: 'Field',
    fields: { title: 'Title', author: 'Author', year: 'Year', whole: 'Whole row' },
    problem: 'Problem',
    firstFaults: (/** @type {number} */ listed, /** @type {number} */ all) =>
      `The first ${listed} of ${all.toLocaleString('en')} errors.`,
    saveFaults: 'Download errors (CSV)',
    importing: (/** @type {string} */ name) => `“${name}” was imported`,
    done: (/** @type {number} */ added) => `Imported ${books(added)}.`,
    show: 'Show',
    undo: 'Undo import',
    undoQuestion: (/** @type {string} */ name, /** @type {number} */ count) =>
      `This deletes the ${books(count)} added from “${name}”. Books that someone has changed since then are kept.${slow(count)}`,
    noUndo: (/** @type {number} */ most) =>
      `You can undo an import of up to ${books(most)} here. This one has more.`,
    doneBefore: 'The books that were ready to import are in the catalogue.',
    running: 'Another import is still running.',
    oneFile: 'Drop one file at a time.',
    runningFile: (/** @type {string} */ name) => `Importing “${name}”…`,
    failed: (/** @type {string} */ name, /** @type {string} */ reason) => `“${name}”: ${reason}`,
    notSaved: (/** @type {string} */ reason) => `${reason}. Nothing was saved.`,
    unknown: (/** @type {string} */ reason) =>
      `${reason}. Either all books were imported or none. Check the file again: books already in the catalogue are skipped.`,
    lost: 'The connection was lost',
    unreadable: 'The file has changed since you chose it, or cannot be read. Choose it again.',
    busy: 'The service cannot accept the file right now',
    tooLarge:
      'The file is larger than this service accepts. Split it, or ask the operator to raise IMPORT_LIMIT.',
    tooLargeForProxy:
      'A proxy in front of the service does not accept files this large. Split it, or ask the operator to raise the limit of the proxy (nginx: client_max_body_size).',
  },
  many: {
    delete: (/** @type {number} */ count) => `Delete ${books(count)}`,
    deleting: (/** @type {number} */ count) => `${books(count)} ${count === 1 ? 'was' : 'were'} deleted`,
    deleted: (/** @type {number} */ count) => `Deleted ${books(count)}.`,
    reached: (/** @type {number} */ reached, /** @type {number} */ total) =>
      `${reached.toLocaleString('en')} of ${books(total)}`,
    stop: 'Stop',
    escape: 'Press Cancel to discard what you typed.',
    stopped: 'Stopped',
    changed: (/** @type {number} */ count) => `Kept ${books(count)} that someone else has changed.`,
    gone: (/** @type {number} */ count) => `${books(count)} ${count === 1 ? 'was' : 'were'} already deleted.`,
    deletingNow: (/** @type {number} */ count) => `Deleting ${books(count)}…`,
    savingNow: (/** @type {number} */ count) => `Saving ${books(count)}…`,
    set: 'Set author or year',
    setHint: (/** @type {number} */ count) =>
      `For ${books(count)}. Leave a field empty to keep what it has.${slow(count)}`,
    setAction: (/** @type {number} */ count) => `Save ${books(count)}`,
    setting: (/** @type {number} */ count) => `${books(count)} ${count === 1 ? 'was' : 'were'} saved`,
    nothingSet: 'Enter an author or a year.',
    saved: (/** @type {number} */ count) => `Saved ${books(count)}.`,
    left: (/** @type {string} */ reason, /** @type {number} */ count) =>
      `${reason.replace(/\.$/, '')}: ${books(count)} left.`,
  },
}

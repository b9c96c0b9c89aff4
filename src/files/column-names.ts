import { FIELD_NAMES, type FieldName, isNullable } from '../catalogue/book.ts'
import { searchedWords } from '../catalogue/search-words.js'

/**
 * Names of the columns of each field, separated by commas. Case, accents, punctuation and spaces do not matter. Sources
 * are the translations of Calibre-Web, Tellico and Open Library (cps/translations, po/ and openlibrary/i18n of their
 * repositories), common variants of them, and the files of the programs that are named. A name must not mean anything
 * else in a list of books in any language. So "name", "date", "book" and "publication" are missing. So are `år`, which
 * without accents is "AR" (a reading level), and `any`, which is also English.
 */
interface Names {
  readonly title: string
  readonly author: string
  /** In Zotero, of the book that has the chapter; in the Book-Crossing data, the only author. */
  readonly bookAuthor?: string
  /** Of the first edition. */
  readonly firstYear?: string
  readonly firstDate?: string
  /** Of the reader's own edition. */
  readonly year?: string
  readonly date?: string
}

/** Persian and Thai have no names for years, because these are mostly of other calendars. */
const LANGUAGES: readonly Names[] = [
  // English: also Goodreads, Libib, Openreads, Readerware (PubDate), Book Catalogue (author_details), Book Crawler
  // (copyright), Koha (copyrightdate), DSpace (dc.…), Zotero, and the Book-Crossing data.
  {
    title: `title, book title, title of book, title of the book, book name, name of book, name of the book,
      main title, dc.title`,
    author: `author, authors, author name, author names, author details, author of book, name of author,
      name of the author, creator, creators, writer, writers, written by, dc.creator, dc.contributor.author`,
    bookAuthor: 'book author, book authors',
    firstYear: `original publication year, original year, original year published, original release year,
      first publish year, first publication year, first published year, first edition year, year first published,
      year of first publication, year of first edition, year of original publication`,
    firstDate: `original publication date, original date published, original release date, original publication,
      first published, first publish date, first publication date, first publication, date first published,
      date of first publication, originally published`,
    year: `year, publication year, year of publication, year published, published year, publish year, publishing year,
      year of publishing, pub year, publ year, release year, year of release, year released, edition year,
      year of edition, print year, printing year, year of printing, pub yr, yr published`,
    date: `edition date, publication date, date of publication, date published, published date, publish date,
      publishing date, pub date, published, published on, published in, release date, date of release, date released,
      released, released on, copyright, copyright date, copyright year, year of copyright, dc.date.issued`,
  },
  // German
  {
    title: 'Titel, Buchtitel, Haupttitel, Titel des Buches, Name des Buches',
    author: `Autor, Autoren, Autorin, Autorinnen, Name des Autors, Buchautor, Verfasser, Verfasserin, Verfasserinnen,
      Schriftsteller, Schriftstellerin, Urheber`,
    firstYear: `Erstveröffentlichungsjahr, Erstveroeffentlichungsjahr, Ersterscheinungsjahr, Originalerscheinungsjahr,
      Originaljahr, Jahr der Erstveröffentlichung, Jahr der Erstveroeffentlichung, Jahr der Erstausgabe`,
    firstDate: `Ersterscheinungsdatum, Ersterscheinung, Erstveröffentlichung, Erstveroeffentlichung,
      Erstveröffentlichungsdatum`,
    year: `Jahr, Erscheinungsjahr, Ersch.-Jahr, Veröffentlichungsjahr, Veroeffentlichungsjahr,
      Jahr der Veröffentlichung, Jahr der Veroeffentlichung, Publikationsjahr, Jahr der Publikation,
      Jahr der Herausgabe, Druckjahr`,
    date: `Erscheinungsdatum, Erscheinungstermin, Erscheinungstag, Erschienen, Erschienen am, Veröffentlichungsdatum,
      Veroeffentlichungsdatum, Veröffentlicht, Veroeffentlicht, Veröffentlicht am, Veroeffentlicht am,
      Datum der Veröffentlichung, Publikationsdatum, Herausgabedatum, Copyright-Jahr`,
  },
  // French: also Babelio.
  {
    title: "titre, titre du livre, titre de l'ouvrage, titre livre, nom du livre",
    author: `auteur, auteurs, auteure, auteures, autrice, autrices, auteur/autrice, auteur·rice, auteur principal,
      nom de l'auteur, nom auteur, écrivain`,
    firstYear: `année de première publication, année de la première publication, année de première parution,
      année de l'édition originale, année de publication originale, année de première édition`,
    firstDate: `première publication, première parution, date de première publication, date de première parution,
      date de l'édition originale, date de publication originale`,
    year: `année, année de publication, année de parution, année d'édition, année de sortie, année publication,
      année parution, année édition, année d'impression`,
    date: `date de publication, date de parution, date d'édition, date de sortie, date publication, date parution,
      date édition, parution, publié, publié le, publié en, paru le, paru en, année de copyright`,
  },
  // Spanish, Portuguese, Galician and Catalan
  {
    title: `título, título del libro, título de la obra, título do libro, nombre del libro, títol, títol del llibre,
      título do livro, título da obra, nome do livro`,
    author: `autor, autores, autora, autoras, autor principal, autoría, nombre del autor, escritor, escritora, autors,
      nome do autor`,
    firstYear: `año de publicación original, año original, año de primera publicación, año de la primera publicación,
      año de la primera edición, año de primera edición, ano de publicação original, ano da primeira publicação,
      ano de primeira publicação, ano da primeira edição`,
    firstDate: `fecha de publicación original, fecha de primera publicación, fecha de la primera publicación,
      primera publicación, data da primeira publicação, data de publicação original, primeira publicação`,
    year: `año, año de publicación, año de edición, año de lanzamiento, año de impresión, año publicación,
      año edición, any de publicació, any d'edició, año pub., ano de publicação, ano da publicação, ano de edição,
      ano da edição, ano de lançamento, ano publicação, ano edição, ano lançamento`,
    date: `fecha de publicación, fecha de edición, fecha de lanzamiento, fecha publicación, fecha edición, publicado,
      publicado en, publicado el, data de publicación, data de publicació, publicat, año del copyright,
      data de publicação, data da publicação, data de lançamento, data de edição, data da edição, data publicação,
      data lançamento, publicado em, ano do copyright`,
  },
  // Italian: also Handy Library.
  {
    title: "titolo, titolo del libro, titolo dell'opera, titolo libro, nome del libro",
    author: `autore, autori, autore/i, autrice, autrici, nome autore, nome dell'autore, scrittore, scrittrice`,
    firstYear: `anno di prima pubblicazione, anno della prima pubblicazione, anno di pubblicazione originale,
      anno della prima edizione, anno prima edizione`,
    firstDate: `data di prima pubblicazione, data della prima pubblicazione, data di pubblicazione originale,
      prima pubblicazione`,
    year: `anno, anno di pubblicazione, anno di edizione, anno di uscita, anno di stampa, anno pubblicazione,
      anno edizione, anno uscita`,
    date: `data di pubblicazione, data di edizione, data di uscita, data pubblicazione, data edizione, data uscita,
      pubblicato, pubblicato il, pubblicato nel, copyright (anno)`,
  },
  // Dutch
  {
    title: 'titel, boektitel, hoofdtitel, titel van het boek, naam van het boek',
    author: 'auteur, auteurs, schrijver, schrijvers, schrijfster, naam auteur, naam van de auteur',
    firstYear: `jaar van eerste uitgave, jaar van eerste publicatie, jaar eerste druk, jaar van de eerste druk,
      oorspronkelijk publicatiejaar, oorspronkelijk jaar van uitgave`,
    firstDate: 'eerste publicatie, eerste publicatiedatum, oorspronkelijke publicatiedatum',
    year: `jaar, jaar van uitgave, jaar van publicatie, jaar van verschijnen, jaar uitgave, uitgavejaar, uitgiftejaar,
      publicatiejaar, verschijningsjaar, jaar van uitgifte`,
    date: `publicatiedatum, datum van publicatie, uitgavedatum, datum van uitgave, uitgiftedatum, verschijningsdatum,
      releasedatum, verschenen, verschenen op, verschenen in, gepubliceerd, gepubliceerd op, jaar copyright`,
  },
  // Swedish, Danish and Norwegian
  {
    title: 'titel, boktitel, bokens titel, bogtitel, bogens titel, tittel, boktittel, bokens tittel',
    author: `författare, författarens namn, författarnamn, upphovsman, forfatter, forfattere, forfatternavn,
      forfatterens navn, forfattar, forfattarar, ophavsmand, opphavsmann`,
    firstYear: `första utgivningsår, ursprungligt utgivningsår, originalutgivningsår, første udgivelsesår,
      oprindeligt udgivelsesår, første utgivelsesår, opprinnelig utgivelsesår, originalt utgivelsesår`,
    firstDate: 'först publicerad, först utgiven, först utgivet, først udgivet, først utgitt',
    year: `utgivningsår, utgivet år, publiceringsår, tryckår, udgivelsesår, udgivelsesaar, udgivet år, trykår, årstal,
      utgivelsesår, utgivelsesaar, utgitt år, publiseringsår, trykkeår, årstall, utgjevingsår`,
    date: `utgivningsdatum, utgivningsdag, utgiven, utgivet, publiceringsdatum, publicerad, udgivelsesdato, udgivet,
      publiceringsdato, utgivelsesdato, utgitt, publiseringsdato, publisert, utgjevingsdato, copyrightår`,
  },
  // Finnish and Estonian
  {
    title: 'nimeke, teoksen nimi, kirjan nimi, otsikko, kirjan otsikko, pealkiri, raamatu pealkiri',
    author: 'tekijä, tekijät, kirjailija, kirjailijat, kirjoittaja, kirjoittajat, autor, autorid',
    firstYear: 'ensimmäinen julkaisuvuosi, alkuperäinen julkaisuvuosi, ensijulkaisuvuosi, esmailmumise aasta',
    firstDate: 'ensijulkaisu, ensimmäinen julkaisupäivä, alkuperäinen julkaisupäivä',
    year: `vuosi, vuosiluku, julkaisuvuosi, ilmestymisvuosi, painovuosi, kustannusvuosi, aasta, ilmumisaasta,
      väljaandmisaasta, väljalaskeaasta`,
    date: `julkaisupäivä, julkaisupäivämäärä, julkaistu, ilmestymispäivä, ilmestynyt, ilmumiskuupäev,
      väljaandmise kuupäev`,
  },
  // Polish, Czech and Slovak
  {
    title: `tytuł, tytuł książki, nazwa książki, název, název knihy, název díla, názov, názov knihy, názov diela`,
    author: `autor, autorzy, autorka, autorki, imię i nazwisko autora, pisarz, autoři, autorky, jméno autora,
      spisovatel, meno autora`,
    firstYear: `rok pierwszego wydania, rok pierwszej publikacji, rok 1. wydania, rok 1. opublikowania,
      rok prvního vydání, rok 1. vydání, rok původního vydání, rok prvého vydania, rok pôvodného vydania`,
    firstDate: `data pierwszego wydania, data pierwszej publikacji, pierwsza publikacja, datum prvního vydání,
      prvně vydáno, dátum prvého vydania`,
    year: `rok, rok wydania, rok wyd., rok publikacji, rok vydání, rok publikace, rok publikování, rok vydania,
      rok publikovania`,
    date: `data wydania, data publikacji, data premiery, wydano, opublikowano, datum vydání, datum publikace,
      datum publikování, vydáno, publikováno, dátum vydania, dátum publikovania, vydané, publikované, rok copyrightu,
      rok autorských práv`,
  },
  // Hungarian
  {
    title: 'cím, könyv címe, a könyv címe, könyvcím, főcím, mű címe, a mű címe',
    author: 'szerző, szerzők, szerző neve, a szerző neve, író, írók',
    firstYear: 'első megjelenés éve, első kiadás éve, eredeti megjelenés éve, eredeti kiadás éve',
    firstDate: 'első megjelenés, első megjelenés dátuma, eredeti megjelenés, eredeti megjelenés dátuma',
    year: 'év, évszám, kiadás éve, kiadási év, kiadás év, megjelenés éve, megjelenési év, megjelenés év',
    date: `megjelenés, megjelenés dátuma, megjelenés ideje, megjelenési dátum, megjelenési idő, megjelent,
      kiadás dátuma, kiadási dátum, copyright éve`,
  },
  // Romanian; "an" alone is also an accession number.
  {
    title: 'titlu, titlul, titlu carte, titlul cărții, titlu de carte',
    author: 'autor, autori, autorul, autorii, nume autor, numele autorului',
    firstYear: 'anul primei publicări, anul primei apariții, anul primei ediții',
    firstDate: 'data primei publicări, data primei apariții, prima publicare, prima apariție',
    year: `anul, anul apariției, an apariție, anul publicării, an publicare, anul ediției, an ediție, anul editării`,
    date: 'data publicării, data publicare, data apariției, data apariție, publicat, an copyright',
  },
  // Croatian, Bosnian, Serbian and Slovene
  {
    title: 'naslov, naslov knjige, naziv knjige, naslov dela, наслов, наслов књиге, назив књиге',
    author: 'autor, autori, autorica, pisac, аутор, аутори, писац, avtor, avtorji, avtorica',
    firstYear: `godina prvog izdanja, godina prvog objavljivanja, година првог издања, leto prve izdaje,
      leto prvega izida`,
    firstDate: 'prvi put izdano, datum prvog izdanja, datum prvog objavljivanja',
    year: `godina, godina izdanja, godina izdavanja, godina objave, godina objavljivanja, година издања,
      година издавања, година објављивања, leto, leto izida, leto izdaje, leto objave`,
    date: `datum izdanja, datum izdavanja, datum objave, datum objavljivanja, objavljeno, датум издања,
      датум издавања, датум објављивања, објављено, datum izida, datum izdaje`,
  },
  // Lithuanian and Latvian
  {
    title: 'pavadinimas, knygos pavadinimas, nosaukums, grāmatas nosaukums',
    author: 'autorius, autoriai, knygos autorius, autors, autori',
    year: 'metai, leidimo metai, išleidimo metai, gads, izdošanas gads, publicēšanas gads',
    date: 'leidimo data, išleidimo data, izdošanas datums, publicēšanas datums',
  },
  // Russian, Ukrainian and Bulgarian
  {
    title: `название, название книги, заглавие, заголовок, наименование, наименование книги, назва, назва книги,
      заглавие на книгата`,
    author: `автор, авторы, автор книги, имя автора, ФИО автора, писатель, автори, ім'я автора, письменник,
      име на автора`,
    firstYear: `год первой публикации, год первого издания, рік першої публікації, рік першого видання,
      година на първо издание, година на първото издание`,
    firstDate: `впервые опубликовано, первая публикация, дата первой публикации, дата первого издания,
      вперше опубліковано, перша публікація, дата першої публікації`,
    year: `год, год издания, год изд., год публикации, год выпуска, год выхода, рік, рік видання, рік публікації,
      рік випуску, рік виходу, година, година на издаване, година на издание, година на публикуване`,
    date: `дата публикации, дата издания, дата выхода, дата выпуска, опубликовано, издано, дата публікації,
      дата видання, дата виходу, дата випуску, опубліковано, видано, дата на издаване, дата на публикуване,
      публикувана`,
  },
  // Greek
  {
    title: 'τίτλος, τίτλος βιβλίου, τίτλος του βιβλίου',
    author: 'συγγραφέας, συγγραφείς, όνομα συγγραφέα, δημιουργός',
    firstYear: 'έτος πρώτης έκδοσης, έτος πρώτης δημοσίευσης',
    firstDate: 'ημερομηνία πρώτης έκδοσης, πρώτη δημοσίευση',
    year: `έτος, έτος έκδοσης, έτος δημοσίευσης, έτος κυκλοφορίας, χρονολογία, χρονολογία έκδοσης, χρονιά έκδοσης`,
    date: 'ημερομηνία έκδοσης, ημερομηνία δημοσίευσης, ημερομηνία κυκλοφορίας, εκδόθηκε',
  },
  // Turkish
  {
    title: 'başlık, kitap adı, kitabın adı, kitap ismi, kitap başlığı, eser adı',
    author: 'yazar, yazarlar, yazarı, yazar adı, kitabın yazarı',
    firstYear: `ilk yayın yılı, ilk yayım yılı, ilk baskı yılı, ilk basım yılı, ilk yayınlanma yılı,
      ilk yayımlanma yılı`,
    firstDate: `ilk yayın tarihi, ilk yayım tarihi, ilk baskı tarihi, ilk yayınlanma tarihi, ilk yayımlanma tarihi,
      ilk yayım`,
    year: `yıl, yılı, yayın yılı, yayım yılı, yayınlanma yılı, yayımlanma yılı, basım yılı, baskı yılı, çıkış yılı`,
    date: `yayın tarihi, yayım tarihi, yayınlanma tarihi, yayımlanma tarihi, basım tarihi, baskı tarihi, çıkış tarihi,
      telif hakkı yılı`,
  },
  // Indonesian and Malay
  {
    title: 'judul, judul buku, tajuk, tajuk buku',
    author: 'penulis, pengarang, nama penulis, nama pengarang, penulis buku',
    firstYear: 'tahun pertama terbit, tahun terbit pertama',
    firstDate: 'pertama diterbitkan, tanggal terbit pertama, pertama terbit',
    year: 'tahun, tahun terbit, tahun penerbitan, tahun terbitan',
    date: 'tanggal terbit, tanggal penerbitan, tanggal rilis, tarikh terbit, tarikh penerbitan, diterbitkan',
  },
  // Vietnamese
  {
    title: 'tên sách, tiêu đề, tiêu đề sách, nhan đề, tựa đề, tựa sách, tên tác phẩm',
    author: 'tác giả, tên tác giả',
    firstYear: 'năm xuất bản đầu tiên, năm xuất bản lần đầu',
    firstDate: 'xuất bản lần đầu, ngày xuất bản lần đầu, ngày xuất bản đầu tiên',
    year: 'năm, năm xuất bản, năm phát hành, năm XB',
    date: 'ngày xuất bản, ngày phát hành',
  },
  // Chinese and Japanese
  {
    title:
      '书名, 書名, 标题, 標題, 题名, 題名, 书标题, 图书名称, 圖書名稱, 书籍名称, 書籍名稱, タイトル, 書籍名, 作品名, 図書名, 本のタイトル, 本の題名, 書籍タイトル',
    author: '作者, 著者, 作者名, 作者姓名, 责任者, 責任者, 著者名, 作家, 作家名, 著作者',
    firstYear:
      '首次出版年, 首次出版年份, 首版年, 首版年份, 初版年, 初版年份, 原作出版年, 初版発行年, 初版刊行年, 初出版年',
    firstDate: '首次出版, 首次出版日期, 首版日期, 初版日期, 初出版, 初版発行日, 初版日',
    year: '年, 年份, 出版年, 出版年份, 出版年度, 出版年代, 发行年, 發行年, 发行年份, 發行年份, 発行年, 刊行年, 発売年',
    date: `出版日期, 出版日, 出版时间, 出版時間, 出版年月, 出版年月日, 发行日期, 發行日期, 发布日期, 發布日期, 版权年份, 版權年份, 発行日,
      刊行日, 発売日, 出版日付, 発行年月, 刊行年月, 発行年月日, 刊行年月日`,
  },
  // Korean
  {
    title: '제목, 책 제목, 도서명, 도서 제목, 책 이름, 서명, 표제',
    author: '저자, 저자명, 저자 이름, 지은이, 글쓴이, 작가, 작가명',
    firstYear: '초판연도, 초판 발행연도, 초판 발행년도, 초판 출간연도, 최초 출판연도',
    firstDate: '초판 발행, 초판 발행일, 초판 출간일, 최초 출판일',
    year: '연도, 년도, 출판연도, 출판년도, 출판년, 출간연도, 출간년도, 발행연도, 발행년도, 발행년, 발간연도, 발매 연도, 간행년',
    date: '출판일, 출판일자, 출판 날짜, 출간일, 출간일자, 출간 날짜, 발행일, 발행일자, 발행 날짜, 발간일, 발매일, 출판년월, 발행년월, 저작권 연도',
  },
  // Arabic and Persian
  {
    title: 'العنوان, عنوان, عنوان الكتاب, اسم الكتاب, عنوان کتاب, نام کتاب',
    author: `المؤلف, مؤلف, المؤلفون, المؤلفين, اسم المؤلف, الكاتب, كاتب, اسم الكاتب, نویسنده, نویسندگان, نام نویسنده,
      پدیدآور`,
    firstYear: 'سنة النشر الأولى, سنة أول نشر',
    firstDate: 'تاريخ النشر الأول, أول نشر',
    year: 'السنة, سنة, سنة النشر, سنة الإصدار, سنة الطبع, سنة الإطلاق, عام النشر',
    date: 'تاريخ النشر, تاريخ الإصدار, تاريخ الصدور, سنة حقوق النشر',
  },
  // Hebrew
  {
    title: 'כותר, כותרת, כותרת הספר, כותרת ספר, שם הספר, שם ספר',
    author: 'מחבר, מחברים, המחבר, סופר, סופרת, שם המחבר, שם הסופר',
    firstYear: 'שנת פרסום ראשונה, שנת הוצאה ראשונה',
    year: 'שנה, שנת הוצאה, שנת ההוצאה, שנת הוצאה לאור, שנת פרסום, שנת הפרסום',
    date: 'תאריך פרסום, תאריך הפרסום, תאריך הוצאה, תאריך הוצאה לאור, תאריך יציאה לאור, שנת זכויות יוצרים',
  },
  // Hindi and Bengali
  {
    title: 'शीर्षक, पुस्तक शीर्षक, पुस्तक का नाम, पुस्तक का शीर्षक, किताब का नाम, শিরোনাম, বইয়ের নাম',
    author: 'लेखक, लेखक का नाम, रचनाकार, লেখক, লেখকের নাম',
    firstYear: 'प्रथम प्रकाशन वर्ष',
    firstDate: 'पहली बार प्रकाशित, प्रथम प्रकाशन',
    year: 'वर्ष, साल, प्रकाशन वर्ष, प्रकाशन का वर्ष, বছর, প্রকাশের বছর, প্রকাশের সাল, প্রকাশ সাল, প্রকাশকাল',
    date: `प्रकाशन तिथि, प्रकाशन की तिथि, प्रकाशित होने की तिथि, प्रकाशन तारीख, প্রকাশের তারিখ, প্রকাশনার তারিখ`,
  },
  // Thai
  {
    title: 'ชื่อเรื่อง, ชื่อหนังสือ',
    author: 'ผู้แต่ง, ผู้เขียน, ชื่อผู้แต่ง, ชื่อผู้เขียน, นักเขียน',
  },
]

/** Column names for the examples in messages and descriptions. */
export const EXAMPLE_NAMES: Readonly<Record<FieldName, string>> = {
  title: 'Titel',
  author: '"Name, Vorname"',
  year: 'Jahr',
}

/** The same for a file without column names, whose columns have numbers from 1. */
export const EXAMPLE_NUMBERS = Object.fromEntries(
  FIELD_NAMES.map((field, index) => [field, `${index + 1}`]),
) as Record<FieldName, string>

/** The kinds of columns for each field, best first: the first edition before the reader's own, a year before a date. */
const KINDS: Readonly<Record<FieldName, readonly (keyof Names)[]>> = {
  title: ['title'],
  author: ['author', 'bookAuthor'],
  year: ['firstYear', 'firstDate', 'year', 'date'],
}

/** UTF-16 code units of a column name that are compared. */
const MAX_LENGTH = 100

let meanings: Map<string, keyof Names> | undefined

/** What each known name means. Made at the first import, because it takes 20 ms. */
const meaningsByName = () =>
  (meanings ??= new Map(
    LANGUAGES.flatMap((names) => Object.entries(names) as [keyof Names, string][]).flatMap(([kind, names]) =>
      names.split(/,\s+/).map((name) => [keyOf(name), kind] as const),
    ),
  ))

/** @returns the columns whose names are known for the field: one list for each kind, the best kind first. */
export function columnsNaming(field: FieldName, columns: readonly string[]): string[][] {
  const known = meaningsByName()
  const byKind = Map.groupBy(columns, (column) => known.get(keyOf(column)))
  return KINDS[field].map((kind) => byKind.get(kind) ?? []).filter(({ length }) => length > 0)
}

function keyOf(name: string): string {
  return searchedWords(name.slice(0, MAX_LENGTH)).join('')
}

/** The columns of a CSV file that hold the fields. An empty name means that the file has no such column. */
export type ColumnMapping = { readonly [Name in FieldName]?: string }

/** A name in quotation marks, or one without commas that does not begin with a quotation mark. */
const NAME = '"(?:[^"]|"")+"|[^",][^,]*'
const MAY_LACK = FIELD_NAMES.filter((name) => name === 'year' || isNullable(name))
const ITEM = `(?:(${FIELD_NAMES.join('|')})=(${NAME})|(${MAY_LACK.join('|')})=)`

/** Matches what `parseColumns()` accepts, and also texts that name a field twice. */
export const COLUMNS_PATTERN = `^${ITEM}(?:,${ITEM})*$`

const exampleOf = (names: Readonly<Record<FieldName, string>>) =>
  FIELD_NAMES.map((field) => `${field}=${names[field]}`).join(',')

export const COLUMNS_EXAMPLE = exampleOf(EXAMPLE_NAMES)
export const NUMBERS_EXAMPLE = exampleOf(EXAMPLE_NUMBERS)

/**
 * @param text such as `title=Titel,author="Name, Vorname"`. Quotation marks in quoted names are doubled. `year=` says
 * that the file has no years.
 * @returns undefined if the text is malformed or names a field twice.
 */
export function parseColumns(text: string): ColumnMapping | undefined {
  if (!new RegExp(COLUMNS_PATTERN, 'u').test(text)) return undefined
  const items = Array.from(text.matchAll(new RegExp(ITEM, 'gu')), ([, field, name = '', lacking]) => [
    field ?? lacking,
    name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name,
  ])
  const columns: ColumnMapping = Object.fromEntries(items)
  return Object.keys(columns).length === items.length ? columns : undefined
}

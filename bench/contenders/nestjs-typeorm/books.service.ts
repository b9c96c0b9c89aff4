import { Injectable } from '@nestjs/common'
import { InjectRepository } from '@nestjs/typeorm'
import { Repository } from 'typeorm'
import { BookChanges, NewBook } from './book.dto.js'
import { Book } from './book.entity.js'

@Injectable()
export class BooksService {
  constructor(@InjectRepository(Book) private readonly books: Repository<Book>) {}

  create(book: NewBook): Promise<Book> {
    return this.books.save(this.books.create(book))
  }

  findAll(): Promise<Book[]> {
    return this.books.find({ order: { id: 'ASC' } })
  }

  findOne(id: number): Promise<Book | null> {
    return this.books.findOneBy({ id })
  }

  async update(id: number, changes: BookChanges): Promise<Book | null> {
    const book = await this.findOne(id)
    return book && this.books.save(this.books.merge(book, changes))
  }

  async remove(id: number): Promise<boolean> {
    const { affected } = await this.books.delete(id)
    return affected === 1
  }
}

package main

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/jinzhu/gorm"
)

// The fields are pointers so that empty texts and the year 0 are distinguished from fields that are missing.
type newBook struct {
	Title  *string `json:"title" binding:"required"`
	Author *string `json:"author" binding:"required"`
	Year   *int    `json:"year" binding:"required"`
}

type bookChanges struct {
	Title  *string `json:"title"`
	Author *string `json:"author"`
	Year   *int    `json:"year"`
}

func createBook(c *gin.Context) {
	var input newBook
	if err := c.ShouldBindJSON(&input); err != nil {
		send(c, http.StatusBadRequest, "Invalid input", nil)
		return
	}
	book := Book{Title: *input.Title, Author: *input.Author, Year: *input.Year}
	if err := db.Create(&book).Error; err != nil {
		fail(c, err)
		return
	}
	send(c, http.StatusCreated, "Book created successfully", book)
}

func listBooks(c *gin.Context) {
	var books []Book
	if err := db.Order("id").Find(&books).Error; err != nil {
		fail(c, err)
		return
	}
	send(c, http.StatusOK, "Books retrieved successfully", books)
}

func findBook(c *gin.Context) {
	var book Book
	if err := db.Where("id = ?", c.Param("id")).First(&book).Error; err != nil {
		fail(c, err)
		return
	}
	send(c, http.StatusOK, "Book retrieved successfully", book)
}

func updateBook(c *gin.Context) {
	var book Book
	if err := db.Where("id = ?", c.Param("id")).First(&book).Error; err != nil {
		fail(c, err)
		return
	}
	var input bookChanges
	if err := c.ShouldBindJSON(&input); err != nil {
		send(c, http.StatusBadRequest, "Invalid input", nil)
		return
	}
	if input.Title != nil {
		book.Title = *input.Title
	}
	if input.Author != nil {
		book.Author = *input.Author
	}
	if input.Year != nil {
		book.Year = *input.Year
	}
	if err := db.Save(&book).Error; err != nil {
		fail(c, err)
		return
	}
	send(c, http.StatusOK, "Book updated successfully", book)
}

func deleteBook(c *gin.Context) {
	result := db.Where("id = ?", c.Param("id")).Delete(&Book{})
	if result.Error == nil && result.RowsAffected == 0 {
		result.Error = gorm.ErrRecordNotFound
	}
	if result.Error != nil {
		fail(c, result.Error)
		return
	}
	send(c, http.StatusOK, "Book deleted successfully", nil)
}

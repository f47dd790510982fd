"""A small repository of C++, with what leads those astray who follow its calls."""

FILES = {
    "include/draw/shape.hpp": """
        #pragma once
        #include <memory>
        #include <string>
        #include <vector>

        namespace draw {

        enum class Kind { Square, Circle };

        struct Point {
            double x = 0, y = 0;
            Point operator+(const Point &other) const;
            double length() const { return norm(x, y); }
            friend bool operator==(const Point &a, const Point &b);
        private:
            static double norm(double x, double y);
        };
        Point operator-(const Point &a, const Point &b);

        class Shape {
        public:
            explicit Shape(std::string name);
            virtual ~Shape();
            virtual double area() const = 0;
            virtual std::string describe() const;
            void move(const Point &by);
            void move(double x, double y);
            const std::string &name() const { return name_; }
            static std::unique_ptr<Shape> make(Kind kind);
        protected:
            Point at_;
        private:
            std::string name_;
        };

        class Tagged {
        public:
            void tag(int value) { tag_ = check(value); }
            int size() const { return 1; }
        private:
            int check(int value);
            int tag_ = 0;
        };

        class Square : public Shape, public Tagged {
        public:
            Square(double side) : Shape("square"), side_(side) { tag(4); }
            double area() const override { return square(side_); }
        private:
            static double square(double x) { return x * x; }
            double side_;
        };

        class Circle final : public Shape {
        public:
            Circle();
            ~Circle() override;
            double area() const override;
            std::string describe() const override;
        };

        } // namespace draw
        """,
    "src/shape.cpp": """
        #include "draw/shape.hpp"
        #include "util/strings.hpp"
        #include <cmath>

        namespace {
        double square(double x) { return x; }
        void trace(const std::string &text) { std::puts(text.c_str()); }
        }

        namespace draw {

        using util::join;

        Point Point::operator+(const Point &other) const { return Point{x + other.x, y + other.y}; }
        double Point::norm(double x, double y) { return std::sqrt(::square(x) + y); }
        bool operator==(const Point &a, const Point &b) { return (a - b).length() == 0; }
        Point operator-(const Point &a, const Point &b) { return {a.x - b.x, a.y - b.y}; }

        Shape::Shape(std::string name) : name_(std::move(name)) { trace(name_); }
        Shape::~Shape() { trace("gone"); }
        std::string Shape::describe() const { return join(name(), area()); }
        void Shape::move(const Point &by) { at_ = at_ + by; }
        void Shape::move(double x, double y) { this->move(Point{x, y}); }

        std::unique_ptr<Shape> Shape::make(Kind kind) {
            switch (kind) {
                case Kind::Square: return std::make_unique<Square>(1.0);
                default: return std::unique_ptr<Shape>(new Circle());
            }
        }

        int Tagged::check(int value) { return value; }

        Circle::Circle() : Shape("circle") {}
        Circle::~Circle() = default;
        double Circle::area() const { return 3 * square(at_.length()); }
        std::string Circle::describe() const { return "o" + Shape::describe(); }

        } // namespace draw
        """,
    "include/util/strings.hpp": """
        #ifndef STRINGS_HPP
        #define STRINGS_HPP
        #include <string>
        namespace util {
        template <typename A, typename B> std::string join(const A &a, const B &b) { return text::str(a) + text::str(b); }
        inline namespace text {
        template <typename T> std::string str(const T &value) { return std::to_string(value); }
        }
        std::string to_string(int value);
        template <class T> T max(T a, T b) { return a < b ? b : a; }
        class Buffer {
        public:
            void push_back(char c) { grow(1); }
            int size() const { return 0; }
            Buffer &operator<<(int n) { push_back('x'); return *this; }
            char operator[](int at) const { return 'x'; }
            explicit operator bool() const { return size() != 0; }
        private:
            void grow(int by) {}
        };
        }
        #endif
        """,
    "src/strings.cpp": """
        #include <util/strings.hpp>
        std::string util::to_string(int value) {
            Buffer buffer;
            buffer << value;
            return std::to_string(buffer[0]);
        }
        """,
    "src/scene.h": """
        #pragma once
        #include "draw/shape.hpp"
        #include <functional>
        #include <map>
        #include <mutex>

        namespace app {
        class Scene;
        using Visitor = std::function<void(draw::Shape &)>;
        typedef void (Scene::*Action)();

        template <typename T>
        class Pool {
        public:
            T &add(T item) { items_.push_back(item); return items_.back(); }
            T *first();
            int size() const { return items_.size(); }
        private:
            std::vector<T> items_;
        };

        template <typename T>
        T *Pool<T>::first() { return size() ? &items_.front() : nullptr; }

        struct Lock {
            Lock(std::mutex &mutex);
            ~Lock();
        };

        class Scene {
        public:
            Scene();
            void add(std::unique_ptr<draw::Shape> shape);
            void each(const Visitor &visit);
            double total() const;
            void run(Action action) { (this->*action)(); }
            void clear();
            void refresh();
            static int count;
            static int instances();
            class Builder;
        private:
            std::vector<std::unique_ptr<draw::Shape>> shapes_;
            std::map<std::string, draw::Square> named_;
            std::mutex mutex_;
            Pool<draw::Circle> pool_;
        };

        class Scene::Builder {
        public:
            Builder &with(draw::Kind kind) { kinds_.push_back(kind); return *this; }
            Scene build();
        private:
            std::vector<draw::Kind> kinds_;
        };
        }
        """,
    "src/scene.cc": """
        #include "scene.h"
        #include <algorithm>
        #include <numeric>

        namespace app {
        namespace d = draw;
        namespace {
        struct Counter {
            int operator()(int n) const { return bump(n); }
            int bump(int n) const { return n + 1; }
        };
        bool smaller(const d::Square &a, const d::Square &b) { return a.area() < b.area(); }
        int start();
        }

        int Scene::count = start();

        Lock::Lock(std::mutex &mutex) { mutex.lock(); }
        Lock::~Lock() {}

        Scene::Scene() { ++count; }
        void Scene::add(std::unique_ptr<d::Shape> shape) {
            Lock lock(mutex_);
            shape->move(1, 2);
            shapes_.push_back(std::move(shape));
        }
        void Scene::each(const Visitor &visit) {
            for (const auto &shape : shapes_) visit(*shape);
        }
        double Scene::total() const {
            double sum = 0;
            for (auto it = shapes_.begin(); it != shapes_.end(); ++it) sum += (*it)->area();
            for (const auto &[name, square] : named_) sum += square.size();
            auto found = named_.find("x");
            if (found != named_.end()) found->second.describe();
            return sum;
        }
        void Scene::clear() {
            std::sort(shapes_.begin(), shapes_.end(), smaller);
            shapes_.clear();
            Counter counter;
            counter(3);
        }
        void Scene::refresh() {
            if (auto *first = pool_.first()) first->describe();
            pool_.add(draw::Circle()).area();
        }
        int Scene::instances() { return util::max(count, 1); }
        Scene Scene::Builder::build() {
            Scene scene;
            for (auto kind : kinds_) scene.add(d::Shape::make(kind));
            return scene;
        }
        namespace { int start() { return 0; } }
        }
        """,
    "src/main.cpp": """
        #include "scene.h"
        #include "legacy.h"
        #include <iostream>

        using namespace draw;
        using app::Scene;

        static int size(const Scene &scene) { return Scene::instances(); }
        static void print(const Shape &shape) { std::cout << shape.describe() << std::endl; }

        struct Report {
            std::string title;
            void line(const Shape &shape) { rows.push_back(shape.name()); }
            std::vector<std::string> rows;
        };

        class Guard {
        public:
            Guard(Shape *shape) : shape_(shape) {}
            ~Guard() { delete shape_; }
            Shape *operator->() { return shape_; }
        private:
            Shape *shape_;
        };

        int main(int argc, char **argv) {
            Scene scene = Scene::Builder().with(Kind::Circle).build();
            Report report;
            scene.each(print);
            scene.each([&report](Shape &shape) { report.line(shape); });
            auto total = [&scene] { return scene.total(); };
            if (total() > 1) scene.run(argc > 1 ? &Scene::clear : &Scene::refresh);
            Point a, b;
            if (a == b) std::swap(a, b);
            Guard guard(new Square(2));
            guard->area();
            auto shared = std::make_shared<Circle>();
            shared->describe();
            Shape &shape = *shared;
            static_cast<Square &>(shape).tag(1);
            if (auto *square = dynamic_cast<Square *>(&shape)) square->size();
            std::vector<int> sizes;
            sizes.size();
            legacy_start(argc);
            return size(scene);
        }
        """,
    "src/legacy.h": """
        #ifdef __cplusplus
        extern "C" {
        #endif
        int legacy_start(int n);
        #ifdef __cplusplus
        }
        #endif
        """,
    "src/legacy.c": """
        #include "legacy.h"
        static int size(int n) { return n; }
        int legacy_start(int n) { return size(n); }
        """,
}
